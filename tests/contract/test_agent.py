"""The contract of the Agent port: every agent against the same statements.

What an agent's recordings must be read as stands in ``cases``, a module for each.
"""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from rookery.agents.catalog import AGENTS
from rookery.agents.names import NAMES, PROJECT_FILES, WITH_INSTALLED_HOOKS, WITH_SETTINGS
from rookery.agents.transcripts import read_line, read_usage
from rookery.model.errors import HookUnreadable
from rookery.model.facts import ConversationLeft, SessionEnded, SessionStarted
from rookery.model.permissions import Outcome, Verdict
from rookery.model.screens import View, read_styled
from rookery.model.sessions import NativeId
from rookery.ports.agent import Agent, LaunchSpec
from tests.support.contract import agents
from tests.support.contract.agents.case import AgentCase, S
from tests.support.dialects import hooks_of, screen_of

#: The cases of all modules in the package.
CASES: tuple[AgentCase, ...] = tuple(
    import_module(f"{agents.__name__}.{each.name}").CASE
    for each in iter_modules(agents.__path__)
    if each.name != "case"
)

DENIED = Verdict(Outcome.DENIED, "person", "Not on a Sunday.")
VERDICTS = (
    None,
    Verdict(Outcome.ALLOWED, "person"),
    DENIED,
    Verdict(Outcome.DENIED, "rule"),
    Verdict(Outcome.GONE, "terminal"),
)

SPEC = LaunchSpec(
    command=("program", "--its-own"),
    native_id=NativeId("11111111-2222-4333-8444-555555555555"),
    model="",
    permission_mode="",
    hook="hook 'a b'",
    folder=Path("/s p"),
    door=Path("/run/door"),
    spool=Path("/state/spool"),
    tools=("/bin/sh", "/state/rookery-mcp"),
    badge="the-badge",
)

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.agent)
each_agent = pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
each_hooked = pytest.mark.parametrize(
    "agent", [name for name, agent in AGENTS.items() if agent.hooks]
)


def of_each(table: str) -> list[object]:
    """Return each entry of a table of each case."""
    return [
        pytest.param(case, name, id=f"{case.agent}-{name}")
        for case in CASES
        for name in sorted(getattr(case, table))
    ]


@each_case
def test_every_recording_is_read(case: AgentCase) -> None:
    assert case.recordings.screens == {*case.boxes, *case.dialogs}
    assert case.recordings.hooks == {*case.told}


@pytest.mark.spec("C8")
@pytest.mark.parametrize(("case", "name"), of_each("boxes"))
def test_a_screen_shows_what_is_typed_and_whether_it_works(case: AgentCase, name: str) -> None:
    assert screen_of(case.agent).read(case.recordings.screen(name)) == case.boxes[name]


@pytest.mark.spec("C8")
@pytest.mark.parametrize(("case", "name"), of_each("dialogs"))
def test_a_screen_shows_what_is_asked(case: AgentCase, name: str) -> None:
    view = screen_of(case.agent).read(case.recordings.screen(name))

    kind, text = case.dialogs[name]
    assert view.dialog
    assert view.box is None
    assert kind in {"", view.dialog.kind}
    assert view.dialog.text.startswith(text)
    assert view.dialog.text == text or not case.has_whole_dialogs


@each_case
def test_a_screen_that_is_not_drawn_yet_shows_nothing(case: AgentCase) -> None:
    for screen in ("", "\n\n", *case.undrawn):
        assert screen_of(case.agent).read(read_styled(screen)) == View()


@each_case
def test_what_ends_the_program_is_read_in_its_box(case: AgentCase) -> None:
    assert case.boxes["quit-typed"] == View(AGENTS[case.agent].input.quit)


@pytest.mark.spec("B2")
@each_case
def test_a_box_holds_words_as_the_agent_shows_them(case: AgentCase) -> None:
    holds = AGENTS[case.agent].input.holds

    for placeholder in case.placeholders:
        assert holds(placeholder, "anything")
        assert not holds(f"{placeholder} and more", "anything")


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("box", "words", "holds"),
    [
        ("Build it.", "Build it.", True),
        ("Build\nit.", "Build it.", True),
        ("Build it. And", "Build it.", False),
        ("", "Build it.", False),
    ],
)
@each_agent
def test_a_box_holds_words_however_its_lines_break(
    agent: Agent, box: str, words: str, *, holds: bool
) -> None:
    assert agent.input.holds(box, words) is holds


@pytest.mark.spec("B2")
@pytest.mark.parametrize("words", ["!touch made", " !touch made", "\n!touch made"])
@each_case
def test_what_would_be_run_as_a_shell_command_is_refused(case: AgentCase, words: str) -> None:
    why = AGENTS[case.agent].input.why_not(words)

    assert ("shell command" in why, bool(why)) == (case.runs_exclamations,) * 2


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    "words", ["Build it.", "Build it!", "# remember this", "/etc is full", "1 != 2"]
)
@each_agent
def test_other_words_are_not_refused(agent: Agent, words: str) -> None:
    assert agent.input.why_not(words) == ""


@pytest.mark.spec("C2")
@pytest.mark.parametrize(("case", "name"), of_each("told"))
def test_a_hook_as_the_agent_sends_it_becomes_facts(case: AgentCase, name: str) -> None:
    assert list(hooks_of(case.agent).read(case.recordings.hook(name), S)) == case.told[name]


@pytest.mark.spec("C4")
@pytest.mark.parametrize(("case", "name"), of_each("told"))
def test_a_hook_as_the_agent_sends_it_says_whose_it_is(case: AgentCase, name: str) -> None:
    payload = case.recordings.hook(name)

    sender = hooks_of(case.agent).identify(payload)

    told = {type(each) for each in case.told[name]}
    found = (sender.native_id, sender.cwd, sender.event)
    assert sender.agent == case.agent
    assert found == tuple(payload[field] for field in case.sender_fields)
    assert sender.is_new == (SessionStarted in told)
    assert sender.has_ended == bool(told & {SessionEnded, ConversationLeft})


@pytest.mark.spec("C4")
@pytest.mark.parametrize(("case", "name"), of_each("senders"))
def test_a_hook_as_the_agent_sends_it_says_who_sent_it(case: AgentCase, name: str) -> None:
    assert hooks_of(case.agent).identify(case.recordings.hook(name)) == case.senders[name]


@pytest.mark.parametrize(
    "payload", [{}, {"session_id": "n1"}, {"session_id": 1, "cwd": "/", "hook_event_name": "x"}]
)
@each_hooked
def test_a_hook_that_lacks_what_is_always_sent_is_unreadable(
    agent: str, payload: dict[str, object]
) -> None:
    with pytest.raises(HookUnreadable):
        hooks_of(agent).identify(payload)


@pytest.mark.spec("D2", "D3")
@each_case
def test_every_answer_to_a_call_is_an_object_or_silence(case: AgentCase) -> None:
    hooks = hooks_of(case.agent)
    calls = [each for name in case.told if hooks.read_call(each := case.recordings.hook(name))]

    for payload in calls:
        for verdict in VERDICTS:
            said = hooks.answer(payload, verdict)
            assert said == "" or isinstance(json.loads(said), dict)
        before = hooks.identify(payload).event == hooks.traits.before_tool
        assert DENIED.reason in hooks.answer(payload, DENIED) or not before


@pytest.mark.spec("D1")
@each_case
def test_a_call_is_asked_for_by_the_event_that_asks_and_by_no_other(case: AgentCase) -> None:
    hooks = hooks_of(case.agent)
    payloads = [case.recordings.hook(name) for name in case.told]

    events = {hooks.identify(each).event for each in payloads}
    assert {hooks.traits.before_tool, hooks.traits.permission} - {""} <= events
    for payload in payloads:
        call = hooks.read_call(payload)
        event = hooks.identify(payload).event
        if event == hooks.traits.permission:
            assert call
            assert call.is_asked
        if event == hooks.traits.before_tool:
            # The hook program finds the offline answer by these fields.
            assert (payload["hook_event_name"], payload["tool_name"]) == (
                event,
                call and call.tool,
            )
            assert call
            assert call.is_asked == bool(call.questions)


@pytest.mark.spec("D6")
@each_case
def test_an_agent_whose_stop_is_read_can_be_made_to_go_on(case: AgentCase) -> None:
    hooks = hooks_of(case.agent)
    payloads = [case.recordings.hook(name) for name in case.told]

    for payload in payloads:
        if hooks.read_stop(payload):
            assert json.loads(hooks.go_on(payload, "Try again."))["reason"] == "Try again."


@each_case
def test_every_line_of_a_transcript_can_be_read(case: AgentCase) -> None:
    for file in case.recordings.transcripts:
        lines = file.read_bytes().splitlines()
        assert any(read_line(case.agent, line) for line in lines) or any(
            read_usage(case.agent, line) for line in lines
        )


@each_agent
def test_a_command_line_begins_with_the_command_and_adds_what_was_asked_for(
    agent: Agent,
) -> None:
    plain = agent.command_line(SPEC)
    modelled = agent.command_line(replace(SPEC, model="dream-1"))

    assert plain.argv[: len(SPEC.command)] == SPEC.command
    assert ("dream-1" in modelled.argv) == bool(agent.modes)
    assert "dream-1" not in plain.argv
    assert (SPEC.native_id in plain.argv) == agent.abilities.takes_id


@pytest.mark.spec("K5")
@each_agent
def test_no_secret_is_on_a_command_line_and_files_are_the_sessions_own(agent: Agent) -> None:
    line = agent.command_line(SPEC)

    assert not any(SPEC.badge in word for word in line.argv)
    assert all(file.parent == SPEC.folder for file in line.files)


@pytest.mark.spec("A10")
@each_agent
def test_a_conversation_is_taken_up_where_that_is_possible(agent: Agent) -> None:
    resumed = agent.command_line(replace(SPEC, resumes=True))
    forked = agent.command_line(replace(SPEC, forks=NativeId("another")))

    assert (SPEC.native_id in resumed.argv) == agent.abilities.can_resume
    assert ("another" in forked.argv) == agent.abilities.can_fork


@each_agent
def test_each_permission_mode_is_set_at_its_start(agent: Agent) -> None:
    lines = [agent.command_line(replace(SPEC, permission_mode=mode)) for mode in agent.modes]

    assert all(line != agent.command_line(SPEC) for line in lines)
    assert all(line not in lines[:number] for number, line in enumerate(lines))


def test_the_names_for_quick_commands_are_those_of_all_agents() -> None:
    with_settings = [name for name, agent in AGENTS.items() if agent.settings]

    assert list(NAMES) == sorted(AGENTS)
    assert list(WITH_SETTINGS) == with_settings
    assert set(PROJECT_FILES) == set(with_settings)
    assert list(WITH_INSTALLED_HOOKS) == [
        name for name, agent in AGENTS.items() if agent.abilities.needs_installed_hooks
    ]
