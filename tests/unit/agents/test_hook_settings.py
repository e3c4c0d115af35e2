"""Our hooks in an agent's settings: put in, known again, and taken out."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rookery.agents.shared import hook_settings
from rookery.agents.shared.hook_settings import Json, Toml
from rookery.model.errors import ConfigBroken
from rookery.ports.settings import FoundHook
from tests.support import files
from tests.support.dialects import shape_of

PROGRAM = "/home/anna/.local/state/rookery/rookery-hook"
COMMAND = f'/bin/sh -c \'[ -r "$0" ] && . "$0" || :\' {PROGRAM} claude'
OLDER = f"/usr/bin/python3.9 -I {PROGRAM} claude"
OTHERS = "/bin/sh /srv/rookery-hook claude"

#: What an agent that saves its settings makes of them: the same, in its own look.
LOOKS = (None, 0, 2, 4)


def is_ours(found: FoundHook) -> bool:
    return found.program == PROGRAM


def groups(command: str = COMMAND) -> Mapping[str, Mapping[str, Any]]:
    return {
        event: {"hooks": [{"type": "command", "command": command, "timeout": 20}]}
        for event in ("SessionStart", "Stop", "PreToolUse")
    }


def merged(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with ours after all others."""
    both = copy.deepcopy(settings)
    for event, group in groups().items():
        both.setdefault("hooks", {}).setdefault(event, []).append(group)
    return both


def standing(settings: dict[str, Any], command: str = COMMAND) -> str:
    shape = shape_of("claude")
    return hook_settings.standing(settings, shape, command, program=PROGRAM)


@pytest.mark.spec("C1")
@given(st.data(), st.booleans())
def test_ours_are_added_to_json_and_taken_out_to_the_byte(
    drawn: st.DataObject, comments: bool
) -> None:
    settings = drawn.draw(files.settings())
    text = drawn.draw(files.as_json(settings, comments=comments))
    language = Json(comments)

    new = hook_settings.add(text, language, groups())
    left = hook_settings.remove(new, language, is_ours)

    assert language.parse(new) == merged(settings)
    assert without_empty(language.parse(left)) == without_empty(settings)
    assert left == text or not settings or has_empty(settings)


@pytest.mark.spec("C1")
@given(files.as_toml())
@example("\ufeffmodel = 'x'")
def test_ours_are_added_to_toml_and_taken_out_to_the_line(text: str) -> None:
    language = Toml()

    new = hook_settings.add(text, language, groups())
    left = hook_settings.remove(new, language, is_ours)

    assert language.parse(new) == merged(language.parse(text))
    assert left.splitlines() == text.splitlines()
    assert left == text or not text.endswith("\n")


@pytest.mark.spec("C1")
@given(files.settings(), st.sampled_from(LOOKS), st.sampled_from(LOOKS))
def test_ours_are_taken_out_of_settings_that_their_agent_has_saved_anew(
    settings: dict[str, Any], before: int | None, after: int | None
) -> None:
    text = hook_settings.add(json.dumps(settings, indent=before), Json(), groups())
    saved = json.dumps({**json.loads(text), "new": 1}, indent=after, ensure_ascii=False)

    left = json.loads(hook_settings.remove(saved, Json(), is_ours))

    assert without_empty(left) == without_empty({**settings, "new": 1})


def without_empty(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out lists of hooks that have none: after us they may be gone."""
    full = {event: groups for event, groups in settings.get("hooks", {}).items() if groups}
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    return {**rest, "hooks": full} if full else rest


def has_empty(settings: dict[str, Any]) -> bool:
    return without_empty(settings) != settings


@pytest.mark.spec("C1")
@given(st.data())
def test_only_ours_go_if_others_were_changed_meanwhile(drawn: st.DataObject) -> None:
    settings = drawn.draw(files.settings())
    text = drawn.draw(files.as_json(settings))
    assume(settings and not has_empty(settings))
    new = hook_settings.add(text, Json(), groups())

    changed = new.replace("{", '{"mine" : 1,', 1)
    left = hook_settings.remove(changed, Json(), is_ours)

    assert left == text.replace("{", '{"mine" : 1,', 1)


@pytest.mark.spec("C1")
def test_what_was_added_after_ours_stays_whole() -> None:
    text = hook_settings.add("{\n}", Json(), groups())
    changed = text[: text.rindex("\n}")] + ',\n  "mine": 1\n}'

    left = hook_settings.remove(changed, Json(), is_ours)

    assert left == '{\n  "mine": 1\n}'


@pytest.mark.spec("C1")
@pytest.mark.parametrize(
    ("changed", "left"),
    [
        # Beside ours in the same list, before and after.
        (
            '{"hooks": {"Stop": [{"hooks": [OTHER]}, {"hooks": [OURS]}, {"hooks": [OTHER]}]}}',
            '{"hooks": {"Stop": [{"hooks": [OTHER]}, {"hooks": [OTHER]}]}}',
        ),
        # In the same group.
        (
            '{"hooks": {"Stop": [{"matcher": "x", "hooks": [OURS, OTHER]}]}}',
            '{"hooks": {"Stop": [{"matcher": "x", "hooks": [OTHER]}]}}',
        ),
        (
            '{"hooks": {"Stop": [{"hooks": [OTHER, OURS]}]}}',
            '{"hooks": {"Stop": [{"hooks": [OTHER]}]}}',
        ),
        # Alone: what held nothing else goes, too.
        ('{"a": 1, "hooks": {"Stop": [{"hooks": [OURS]}]}}', '{"a": 1}'),
        ('{"hooks": {"Stop": [{"hooks": [OURS]}]}, "a": 1}', '{"a": 1}'),
        ('{"hooks": {"Stop": [{"hooks": [OURS, OURS]}]}}', "{}"),
    ],
)
def test_ours_are_known_by_what_they_run(changed: str, left: str) -> None:
    def written_out(text: str) -> str:
        ours = json.dumps({"type": "command", "command": OLDER})
        other = json.dumps({"type": "command", "command": "echo rookery-hook-not"})
        return text.replace("OURS", ours).replace("OTHER", other)

    found = hook_settings.remove(written_out(changed), Json(), is_ours)

    assert found == written_out(left)


@pytest.mark.spec("C1")
def test_tables_that_were_moved_and_changed_are_still_found() -> None:
    text = hook_settings.add('model = "x"\n', Toml(), groups())
    changed = text.replace("timeout = 20", "timeout = 21")
    moved = changed.replace("[[hooks.Stop]]", "# mine\n[[hooks.Stop]]")

    left = hook_settings.remove(moved + '\n[a]\nb = "c"\n', Toml(), is_ours)

    assert left == 'model = "x"\n\n# mine\n\n[a]\nb = "c"\n'


@pytest.mark.spec("C1")
def test_hooks_written_as_values_are_refused_with_advice() -> None:
    text = '[hooks]\nStop = [{hooks = [{type = "command", command = "true"}]}]\n'

    with pytest.raises(ConfigBroken, match=r"\[\[hooks.Stop\]\]"):
        hook_settings.add(text, Toml(), groups())


@pytest.mark.parametrize("text", ['{"hooks": 1}', '{"hooks": {"Stop": {}}}', "[]"])
def test_what_has_another_form_is_refused(text: str) -> None:
    with pytest.raises(ConfigBroken, match="line 1"):
        hook_settings.add(text, Json(), groups())


@pytest.mark.spec("C1")
def test_it_is_said_how_ours_stand() -> None:
    shape = shape_of("claude")
    whole: dict[str, Any] = {"hooks": {e: [g] for e, g in shape.groups(COMMAND).items()}}
    lacking = {"hooks": {**whole["hooks"], "Stop": []}}
    other = {"hooks": {"Stop": [{"hooks": [{"command": OTHERS}]}]}}

    assert standing({}) == "absent"
    assert standing({"hooks": {"Stop": [{"hooks": [{"command": "echo"}]}]}}) == "absent"
    assert standing(whole) == "installed"
    assert standing(whole, COMMAND + " --new") == "outdated"
    assert standing(lacking) == "outdated"
    assert standing(other) == "other"


@pytest.mark.parametrize(
    "settings",
    [
        {"hooks": None},
        {"hooks": {"Stop": None}},
        {"hooks": {"Stop": [None, {}, {"hooks": None}, {"hooks": [None, {"command": 1}]}]}},
        {"hooks": {"Stop": [{"hooks": [{"command": "an 'unended"}]}]}},
    ],
)
def test_what_looks_like_no_hook_is_passed_over(settings: dict[str, Any]) -> None:
    assert list(hook_settings.find(settings)) == []


def test_it_is_seen_that_hooks_of_others_come_after_ours() -> None:
    ours, other = ({"hooks": [{"command": each}]} for each in (COMMAND, "echo"))

    def comes_before(*listed: object) -> bool:
        settings = {"hooks": {"Stop": list(listed), "Start": [other]}}
        return hook_settings.comes_before_others(settings, is_ours)

    assert comes_before(ours, other)
    assert not comes_before(other, ours)


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("agent", "event", "timeout"),
    [
        ("claude", "PermissionRequest", 360),
        ("claude", "PreToolUse", 360),
        ("claude", "Notification", 20),
        ("codex", "PermissionRequest", 360),
        ("codex", "SessionEnd", 3),
        ("gemini", "BeforeTool", 360_000),
        ("gemini", "Notification", 20_000),
    ],
)
def test_a_hook_that_may_ask_a_person_has_long_enough(
    agent: str, event: str, timeout: int
) -> None:
    (hook,) = shape_of(agent).groups("x")[event]["hooks"]

    assert hook["timeout"] == timeout


def test_a_file_of_ours_is_filled_in_and_known_again() -> None:
    template = 'const HOOK = "@rookery-hook@"\n'

    text = hook_settings.fill_in(template, {"rookery-hook": ["/bin/sh", PROGRAM]})

    def stands(found: str | None) -> str | None:
        return hook_settings.standing_of_plugin(found, text, program=PROGRAM)

    assert text == f'const HOOK = ["/bin/sh", "{PROGRAM}"]\n'
    assert stands(text) == "installed"
    assert stands(text + "// older\n") == "outdated"
    assert stands(text.replace("anna", "berta")) == "other"
    assert stands("export default 1\n") is None
    assert stands(None) == "absent"
