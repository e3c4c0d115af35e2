"""What a daily user does in Claude Code, and whether Rookery is right about it."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.real.agents import configure
from tests.support.real.daily import Done, Person, check_failures, draw, make_repository
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.agents, pytest.mark.timeout(300)]

#: How often Claude Code tries a request again; ten times take minutes.
RETRIES = '\nCLAUDE_CODE_MAX_RETRIES = "1"\n'

#: The seconds of the present turn, as Claude Code shows them.
SECONDS = re.compile(r"… \((\d+)s\b")

#: The empty input box in shell mode.
EMPTY_SHELL_BOX = re.compile(r"^!\s*$", re.MULTILINE)


@pytest.fixture
def settings(cold: Rookery, models: ModelServer) -> Rookery:
    """Give a home that knows Claude Code, and whose daemon does not run yet."""
    configure(cold, models.url)
    known = cold.home.settings.read_text()
    section = "[agents.claude.environment]"
    cold.configure(known.replace(section, section + RETRIES))
    return cold


@pytest.fixture
def person(settings: Rookery) -> Person:
    settings.up()
    settings.start("it", agent="claude")
    return Person(settings)


def change(rookery: Rookery, file: str, **more: object) -> None:
    path = rookery.folder / "claude" / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))


@pytest.mark.spec("A1", "B0", "E6")
def test_menus_keep_words_back_and_another_conversation_is_the_same_session(
    person: Person,
) -> None:
    person.ask("say: first")
    before = person.session

    person.enter("/rewind")
    person.see("Restore the code")
    rewinding = person.send_behind("say: behind the rewind menu")
    person.press_until("Escape", lambda screen: "Restore the code" not in screen)
    after_rewind = person.hear(rewinding)

    person.enter("/clear")
    person.see_no_more("say: first")
    person.ask("say: second")
    cleared = person.session

    person.enter("/resume")
    person.see("Resume session")
    resuming = person.send_behind("say: behind the resume menu")
    person.press_until("Enter", lambda screen: "Resume session" not in screen)
    after_resume = person.hear(resuming)
    resumed = person.session

    assert after_rewind.answer == "behind the rewind menu"
    assert after_resume.answer == "behind the resume menu"
    assert {each["id"] for each in (before, cleared, resumed)} == {before["id"]}
    assert cleared["native_id"] != before["native_id"] == resumed["native_id"]
    # While it clears it says that it is busy, which on a busy machine looks like a turn.
    said = [turn for turn in person.turns if turn.prompt.startswith("say:")]
    assert {turn.how for turn in said} == {"finished"}
    assert len(person.rookery.json("ls")["sessions"]) == 1


@pytest.mark.spec("A1", "B0")
def test_a_rewound_prompt_is_a_draft_and_a_chosen_model_is_known(person: Person) -> None:
    person.enter("say: to be rewound")
    person.end_of("say: to be rewound")

    person.enter("/rewind")
    person.see("❯ (current)")
    person.press_until("Up", lambda screen: "❯ (current)" not in screen)
    person.press_until("Enter", lambda screen: "Restore conversation" in screen)
    person.press_until("Enter", lambda screen: "Restore conversation" not in screen)
    message = person.rookery.send("it", "say: after it")
    eventually(lambda: "unsent text" in person.rookery.step(message)[1])
    person.press("C-u")
    heard = person.hear(message)
    person.enter("/model sonnet")
    person.see("Yes, switch to")
    person.press_until("Enter", lambda screen: "Yes, switch to" not in screen)
    eventually(lambda: "sonnet" in person.session["model"])

    assert heard == Done("say: after it", "after it", "finished")


@pytest.mark.spec("A2", "I4")
def test_the_reason_of_a_failure_is_shown_and_a_retry_is_no_failure(person: Person) -> None:
    failures = {
        "error: 401 OAuth token has expired": "Please run /login",
        "error: 429 You have reached your usage limit.": "You have reached your usage limit.",
        "cut:": "Connection dropped",
    }
    check_failures(person, failures)

    assert person.ask("error: 529 x1 overloaded;; say: after a retry") == "after a retry"
    assert person.turns[-1].how == "finished"


@pytest.mark.spec("B0", "C1", "E6")
def test_a_persons_own_settings_files_and_pictures_are_no_obstacle(settings: Rookery) -> None:
    """Vim mode, an output style, a theme and hooks of the user's own."""
    own = settings.folder / "own-hooks"
    hook = {"type": "command", "command": f"echo heard >> {own}"}
    change(settings, ".claude.json", editorMode="vim", theme="light-daltonized")
    change(
        settings,
        "settings.json",
        outputStyle="Explanatory",
        hooks={event: [{"hooks": [hook]}] for event in ("UserPromptSubmit", "Stop")},
    )
    (settings.project / "notes.txt").write_text("hello\n")
    settings.up()
    settings.start("it", agent="claude")
    person = Person(settings)

    person.see("INSERT")
    person.press("Escape")
    person.see_no_more("INSERT")
    from_normal_mode = person.ask("say: from normal mode")
    hooks_heard = len(own.read_text().splitlines())

    person.press("i")
    person.type("say: read @notes.t")
    person.see("notes.txt")
    beside_a_file = person.send_behind("say: beside a file")
    person.press("Tab", "Enter")
    mentioned = person.end_of("say: read @notes.txt")
    after_a_file = person.hear(beside_a_file)

    person.paste(str(draw(settings.project)))
    person.see("[Image #1]")
    beside_a_picture = person.send_behind("say: beside a picture")
    person.type(" what is this")
    person.press("Enter")
    after_a_picture = person.hear(beside_a_picture)

    assert from_normal_mode == "from normal mode"
    assert hooks_heard == 2
    assert mentioned.how == after_a_file.how == "finished"
    assert after_a_picture.answer == "beside a picture"
    assert any("[Image #1]" in turn.prompt for turn in person.turns)


@pytest.mark.spec("A2", "C2")
def test_plan_mode_long_tools_and_compaction_leave_a_turn_one_turn(
    settings: Rookery, models: ModelServer
) -> None:
    worktree = make_repository(settings.project)
    settings.up()
    settings.client.post("sessions", agent="claude", name="it", project=str(worktree))
    settings.client.get("sessions", "it", "wait", until="up", timeout=60)
    person = Person(settings)

    person.press_until("BTab", lambda screen: "plan mode on" in screen)
    planned = person.ask("say: planned")
    person.press_until("BTab", lambda screen: "plan mode on" not in screen)

    flag = settings.folder / "go"
    wait = f"while [ ! -e {flag} ]; do sleep 0.2; done"
    settings.send("it", f"bash: {wait};; say: waited")
    # Longer than any quiet time after which a turn is thought to be over.
    eventually(lambda: int((SECONDS.search(person.screen) or ["", "0"])[1]) > 7)
    meanwhile = person.session["activity"]
    flag.touch()
    waited = person.end_of(f"bash: {wait};; say: waited")

    person.ask("say: big;; usage: in=990000 out=10")
    compacted = person.ask("say: compacted")
    with settings.database() as db:
        (compactions,) = db.execute(
            "select count(*) from entries where body like '%PostCompact%'"
        ).fetchone()

    assert planned == "planned"
    assert (meanwhile, waited.answer, waited.how) == ("working", "waited", "finished")
    assert (compacted, compactions) == ("compacted", 1)
    assert person.session["project_path"] == str(worktree)
    assert {turn.how for turn in person.turns} == {"finished"}


@pytest.mark.spec("A1", "D1")
def test_a_session_that_resumes_the_conversation_of_another_is_heard_and_ruled(
    person: Person,
) -> None:
    rookery = person.rookery
    rookery.home.rules.write_text('[[deny]]\ntool = "Bash"\nreason = "not here"\n')
    rookery.start("kid", agent="claude")
    kid = Person(rookery, "kid")
    kid.ask("say: of the kid")

    person.enter("/resume")
    person.see("Resume session")
    person.press_until("Enter", lambda screen: "Resume session" not in screen)
    person.see("of the kid")

    assert person.ask("say: shared") == "shared"
    assert kid.ask("say: still the kid") == "still the kid"
    rookery.ask("it", "bash: touch made;; say: refused")
    assert not (rookery.project / "made").exists()
    assert "shares one conversation with kid" in rookery.run("why", "it").stdout
    assert person.session["native_id"] != kid.session["native_id"]


@pytest.mark.spec("A2", "B0", "E6")
def test_a_program_that_is_suspended_where_no_shell_is_continues_and_words_arrive_once(
    person: Person, models: ModelServer
) -> None:
    person.ask("say: before")

    person.press("C-z")
    person.see("has been suspended")
    idle = person.hear(person.rookery.send("it", "say: to a suspended program"))
    message = person.rookery.send("it", "gate: slow;; say: over")
    person.see("esc to interrupt")
    # Right after the start of a turn, Claude Code may miss a key.
    person.press_until("C-z", lambda _: continuations(person.rookery) == 2, each=10.0)
    models.open_gate("slow")
    working = person.hear(message)

    assert idle == Done("say: to a suspended program", "to a suspended program", "finished")
    assert (working.answer, working.how) == ("over", "finished")
    assert len(person.turns) == 3


def continuations(rookery: Rookery) -> int:
    """Count how often a suspended program was made to continue."""
    with rookery.database() as db:
        query = "select count(*) from entries where kind = 'program-continued'"
        (count,) = db.execute(query).fetchone()
    return int(count)


@pytest.mark.spec("A2", "C2", "E6")
def test_a_shell_command_that_a_person_types_is_a_turn_and_words_wait_for_it(
    person: Person,
) -> None:
    person.ask("say: before")
    flag = person.rookery.folder / "go"

    run(person, f"until [ -e {flag} ]; do sleep 0.1; done; echo reached")
    eventually(lambda: person.session["activity"] == "working")
    message = person.rookery.send("it", "say: after it")
    waited = person.rookery.step(message)[0]
    flag.touch()
    after = person.hear(message)
    run(person, "echo quick")
    eventually(lambda: len(person.turns) == 4)
    eventually(lambda: person.session["activity"] == "idle")

    _, slow, _, quick = person.turns
    assert waited == "pending"
    assert after == Done("say: after it", "after it", "finished")
    assert (slow.prompt[:9], slow.how) == ("! until [", "finished")
    assert "bash-input" in slow.answer
    assert (quick.prompt, quick.how) == ("! echo quick", "finished")
    assert "quick" in quick.answer


def run(person: Person, command: str) -> None:
    """Have Claude Code run a shell command: "!" switches its empty box to shell mode."""
    person.press("!")
    eventually(lambda: EMPTY_SHELL_BOX.search(person.screen))
    person.enter(command)
