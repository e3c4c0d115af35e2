"""Hooks in the settings of agents that somebody starts by hand, with the real programs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest

from rookery.agents.claude.hooks import EVENTS
from rookery.agents.shared import jsonc_edit
from tests.support.paths import PROGRAMS
from tests.support.real.agents import configure, seed_claude, seed_codex
from tests.support.real.by_hand import ByHand
from tests.support.real.more_agents import PROGRAMS as MORE_PROGRAMS
from tests.support.real.more_agents import seed_gemini, seed_opencode
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


class Person:
    """Somebody with settings, and hooks, of their own, who starts agents by hand."""

    def __init__(self, rookery: Rookery, models: str, agent: str, folder: Path) -> None:
        self.rookery = rookery
        self.agent = agent
        self.folder = folder / agent
        self._models = models
        self._tmux = ByHand(rookery.folder)
        self.pane = ""
        self.mark = rookery.folder / "mine"
        self.file = self._seed_claude() if agent == "claude" else self._seed_codex()
        self.before = self.bytes()

    def _seed_claude(self) -> Path:
        """Have settings with a hook of the user's own, in a look of their own."""
        seed_claude(self.folder, self.rookery.project)
        file = self.folder / "settings.json"
        settings = json.loads(file.read_text())
        hook = {"type": "command", "command": f"touch '{self.mark}'"}
        settings = {"hooks": {"Stop": [{"hooks": [hook]}]}, **settings}
        file.write_bytes(json.dumps(settings, indent=3).replace("\n", "\r\n").encode())
        return file

    def _seed_codex(self) -> Path:
        seed_codex(self.folder, self.rookery.project, self._models)
        return self.folder / "config.toml"

    def bytes(self) -> dict[str, bytes]:
        """Return the settings that hooks may be in."""
        names = ("settings.json", "config.toml", "hooks.json")
        files = [self.folder / name for name in names]
        return {file.name: file.read_bytes() for file in files if file.exists()}

    def hooks(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        where = ("--agent", self.agent, "--config-dir", str(self.folder))
        return self.rookery.run("hooks", command, *where, *words)

    def open(self) -> None:
        """Type the agent's name in a terminal."""
        project = self.rookery.project
        if self.agent == "claude":
            self.pane = self._tmux.claude("work", project, self.folder, self._models)
        else:
            program = str(PROGRAMS / "codex")
            given = {"CODEX_HOME": str(self.folder), "FAKE_KEY": "x"}
            self.pane = self._tmux.run("work", project, program, **given)

    def start(self) -> None:
        """Start the agent, and wait until one can type."""
        self.open()
        eventually(lambda: "for shortcuts" in self.screen())

    def press_until(self, key: str, shown: str) -> None:
        """Press a key; again only if it has had no effect for a while."""
        for _ in range(10):
            self._tmux.press(self.pane, key)
            with suppress(AssertionError):
                eventually(lambda: shown in self.screen(), within=2.0)
                return
        pytest.fail(f"{key} has no effect")

    @property
    def trust(self) -> str | None:
        (found,) = json.loads(self.hooks("status", "--json").stdout)["hooks"]
        trust: str | None = found["trust"]
        return trust

    def type(self, words: str) -> None:
        """Type words, and see them stand in the box before they are sent."""
        self._tmux.tmux("send-keys", "-t", self.pane, "-l", words)
        eventually(lambda: words in self.screen())
        self._tmux.press(self.pane, "Enter")

    def screen(self) -> str:
        return self._tmux.screen(self.pane)

    def sessions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.rookery.json("ls")["sessions"]
        return found

    def answers(self) -> list[str]:
        """Return what the one session there is has answered, if it is idle."""
        found = self.sessions()
        if not found or found[0]["activity"] != "idle":
            return []
        turns = self.rookery.client.get("sessions", found[0]["id"], "turns")["turns"]
        return [turn["answer"] for turn in turns]

    def leave(self) -> None:
        self._tmux.clear_away()
        for each in psutil.process_iter(["cmdline"]):
            if "app-server" in (each.info["cmdline"] or []) and self._is_of_ours(each):
                each.kill()  # a daemon of Codex, for all that the same home ever starts
                each.wait(10)

    def _is_of_ours(self, found: psutil.Process) -> bool:
        try:
            return found.environ().get("CODEX_HOME") == str(self.folder)
        except psutil.Error:
            return False


@pytest.fixture(params=["claude", "codex"])
def person(
    request: pytest.FixtureRequest, cold: Rookery, models: ModelServer
) -> Iterator[Person]:
    assert (PROGRAMS / request.param).exists(), "make agents installs it"
    # Codex runs programs of its home in a sandbox with a /dev of its own: its home must not be
    # in /dev/shm, where other temporary folders of a run may be.
    # What Claude has started may still write to its own while it is removed.
    with TemporaryDirectory(prefix="rookery-", ignore_cleanup_errors=True) as folder:
        found = Person(cold, models.url, request.param, Path(folder))
        yield found
        found.leave()


@pytest.mark.spec("C1", "C4")
def test_an_agent_started_by_hand_is_known_and_followed(person: Person) -> None:
    installed = person.hooks("install", "--yes", "--trust")
    status = person.hooks("status", "--json")
    person.rookery.up()
    person.start()
    person.type("say: hello by hand")
    eventually(lambda: person.answers() == ["hello by hand"])
    (session,) = person.sessions()
    person.type("say: and again")
    eventually(lambda: person.answers() == ["hello by hand", "and again"])

    (state,) = json.loads(status.stdout)["hooks"]
    assert installed.returncode == 0, installed.stderr
    assert state["standing"] == "installed"
    assert state["trust"] == ("trusted" if person.agent == "codex" else None)
    assert session["agent"] == person.agent
    assert session["runtime"] in {"headless", "observed"}
    assert session["project_path"] == str(person.rookery.project)
    assert person.mark.exists() == (person.agent == "claude")


@pytest.mark.spec("C1")
def test_after_it_all_just_what_was_put_in_is_gone(person: Person) -> None:
    """Codex writes into its settings as well; what it wrote stays, to the byte."""
    person.hooks("install", "--yes", "--trust")
    installed = person.bytes()
    person.rookery.up()
    person.start()
    person.type("say: hello")
    eventually(lambda: person.answers() == ["hello"])
    person.leave()
    during = person.bytes()
    person.hooks("uninstall", "--yes")

    name = person.file.name
    by_agent = during[name].removeprefix(installed[name])
    assert installed != person.before
    assert person.bytes() == {name: person.before[name] + by_agent}


@pytest.mark.spec("C1")
def test_claude_tells_once_though_it_has_our_hooks_twice(
    cold: Rookery, models: ModelServer
) -> None:
    """Those of its user, and those of this session: they are the same to the letter."""
    configure(cold, models.url)
    where = ("--agent", "claude", "--config-dir", str(cold.folder / "claude"))
    cold.run("hooks", "install", *where, "--yes")
    cold.up()

    cold.start("it", agent="claude")
    said = cold.ask("it", "say: once")
    with cold.database() as db:
        (calls,) = db.execute("select count(*) from hooks").fetchone()

    assert said == "once"
    assert calls == 3  # its start, the prompt, and its stop


@pytest.mark.spec("C1", "C3")
def test_an_agent_goes_on_unharmed_once_rookery_is_gone(
    person: Person, models: ModelServer
) -> None:
    person.hooks("install", "--yes", "--trust")
    shutil.rmtree(person.rookery.home.state)

    person.start()
    person.type("bash: printf one%stwo -;; say: it works")
    models.log.wait_for(lambda record: "one-two" in json.dumps(record.body))
    eventually(lambda: "it works" in person.screen().replace("say: it works", ""))
    eventually(lambda: "esc to interrupt" not in person.screen())

    assert "hook" not in person.screen().lower()
    assert not person.rookery.home.state.exists()


@pytest.mark.spec("C1")
@pytest.mark.parametrize("person", ["codex"], indirect=True)
def test_codex_asks_about_hooks_that_it_was_not_told_to_trust(person: Person) -> None:
    said = person.hooks("install", "--yes").stdout
    before = person.trust
    person.open()
    eventually(lambda: "Hooks need review" in person.screen())
    person.press_until("2", "› 2. Trust all")
    person.press_until("Enter", "for shortcuts")
    after = person.trust
    person.leave()
    person.hooks("uninstall", "--yes")

    assert "Trust all" in said
    assert (before, after) == ("untrusted", "trusted")
    left = person.bytes()
    assert list(left) == ["config.toml"]
    assert left["config.toml"].startswith(person.before["config.toml"])
    assert b"[hooks" not in left["config.toml"]


@pytest.mark.spec("C1")
@pytest.mark.more_agents
def test_gemini_tells_of_itself_as_other_agents_do(cold: Rookery, models: ModelServer) -> None:
    """No daemon runs: what it tells is found in the spool. It writes its settings anew."""
    user = cold.folder / "gemini"
    seed_gemini(user, cold.project)
    file = user / ".gemini" / "settings.json"
    file.write_text("// mine\n" + file.read_text())
    where = ("--agent", "gemini", "--config-dir", str(file.parent))
    given = {"HOME": str(user), "GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": models.url}
    tmux = ByHand(cold.folder)

    cold.run("hooks", "install", *where, "--yes")
    try:
        pane = tmux.run("work", cold.project, str(MORE_PROGRAMS / "gemini"), **given)
        eventually(lambda: told(cold) == {"SessionStart"}, within=90.0)
        tmux.tmux("send-keys", "-t", pane, "-l", "say: hello")
        eventually(lambda: "say: hello" in tmux.screen(pane))
        eventually(lambda: "AfterAgent" in pressed(tmux, pane, cold))
    finally:
        tmux.clear_away()
    during = jsonc_edit.parse(file.read_text(), comments=True)
    cold.run("hooks", "uninstall", *where, "--yes")

    left = file.read_text()
    assert left.startswith("// mine\n")
    assert during.pop("hooks")
    assert jsonc_edit.parse(left, comments=True) == during


@pytest.mark.spec("C1")
@pytest.mark.more_agents
def test_opencode_tells_of_itself_as_other_agents_do(
    cold: Rookery, models: ModelServer
) -> None:
    """What is installed for it is a file of ours."""
    user = cold.folder / "opencode"
    seed_opencode(user, models.url)
    folders = ("config", "data", "state", "cache")
    given = {f"XDG_{name.upper()}_HOME": str(user / name) for name in folders}
    given |= {"HOME": str(user), "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    given |= {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    where = ("--agent", "opencode", "--config-dir", str(user / "config" / "opencode"))
    tmux = ByHand(cold.folder)

    cold.run("hooks", "install", *where, "--yes")
    installed = (user / "config" / "opencode" / "plugin" / "rookery.js").exists()
    try:
        pane = tmux.run("work", cold.project, str(MORE_PROGRAMS / "opencode"), **given)
        eventually(lambda: "Ask anything" in tmux.screen(pane), within=90.0)
        tmux.tmux("send-keys", "-t", pane, "-l", "say: hello")
        eventually(lambda: "say: hello" in tmux.screen(pane))
        eventually(lambda: "Stop" in pressed(tmux, pane, cold))
    finally:
        tmux.clear_away()
    cold.run("hooks", "uninstall", *where, "--yes")

    assert installed
    assert told(cold) >= {"SessionStart", "UserPromptSubmit", "Stop"}
    assert not (user / "config" / "opencode" / "plugin").exists()


def pressed(tmux: ByHand, pane: str, rookery: Rookery) -> set[str]:
    """Press Enter, which is only another line right after words. Return what was told."""
    tmux.press(pane, "Enter")
    return told(rookery)


def told(rookery: Rookery) -> set[str]:
    """Return the events in the spool."""
    calls = (file.read_bytes() for file in rookery.home.spool.iterdir() if not file.suffix)
    return {json.loads(call.partition(b"\n")[2])["hook_event_name"] for call in calls}


@pytest.mark.spec("C1", "I5")
def test_nothing_is_changed_that_nobody_agreed_to(cold: Rookery) -> None:
    file = cold.folder / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text("{}")

    refused = cold.run("hooks", "install", "--agent", "claude")
    shown = cold.run("hooks", "install", "--agent", "claude", "--dry-run")
    whole = cold.run("hooks", "install", "--agent", "claude", "--dry-run", "--diff")
    as_json = cold.json("hooks", "install", "--agent", "claude", "--dry-run")

    assert (refused.returncode, shown.returncode) == (2, 0)
    assert "--yes" in refused.stderr
    assert refused.stdout == shown.stdout
    above, _, difference = whole.stdout.partition("\n")
    assert above == f"~/.claude/settings.json: {len(EVENTS)} hooks to be added"
    assert as_json["changes"][0]["difference"] == difference
    assert file.read_text() == "{}"
    assert not cold.home.state.exists()


@pytest.mark.spec("C1", "I5")
def test_how_a_difference_begins_is_shown_in_lines_that_fit(cold: Rookery) -> None:
    cold.environment["COLUMNS"] = "80"
    file = cold.folder / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{\n  "model": "opus"\n}\n')

    done = cold.run("hooks", "install", "--agent", "claude", "--yes").stdout.splitlines()

    above, *begins, more, changed, _ = done
    assert above == f"~/.claude/settings.json: {len(EVENTS)} hooks to be added"
    assert begins[:2] == [f"--- {file}", f"+++ {file}"]
    assert begins[4:6] == ['-  "model": "opus"', '+  "model": "opus",']
    assert len(begins) == 12
    assert max(map(len, begins[2:])) <= 80
    assert more.startswith("… and ")
    assert more.endswith(" lines more; show all with:  --diff")
    assert changed.startswith(
        f"Changed: {file}, {len(EVENTS)} hooks added; the previous version"
    )
    assert str(cold.home.state / "backups") in changed


@pytest.mark.spec("C1", "I5")
@pytest.mark.parametrize(("key", "code", "is_changed"), [("y", 0, True), ("n", 1, False)])
def test_at_a_terminal_it_is_asked(
    cold: Rookery, key: str, code: int, *, is_changed: bool
) -> None:
    tmux, file = ByHand(cold.folder), cold.folder / ".claude" / "settings.json"
    program = f"{sys.executable} -m rookery hooks install --agent claude; echo code: $?; cat"
    given = {"ROOKERY_HOME": str(cold.home.state), "HOME": str(cold.folder)}
    try:
        pane = tmux.run("work", cold.project, "/bin/sh", "-c", program, **given)
        eventually(lambda: "Apply these changes? [y/N]:" in tmux.screen(pane))
        tmux.type(pane, key)
        eventually(lambda: f"code: {code}" in tmux.screen(pane))
    finally:
        tmux.clear_away()

    assert file.exists() == is_changed


@pytest.mark.spec("C1", "I5")
def test_rookery_takes_out_all_that_it_put_anywhere(cold: Rookery) -> None:
    cold.environment["XDG_CONFIG_HOME"] = str(cold.folder / ".config")
    usual = cold.folder / ".claude" / "settings.json"
    usual.parent.mkdir()
    usual.write_text("{}")
    for where in (
        [],
        ["--project", str(cold.project)],
        ["--config-dir", str(cold.folder / "c")],
    ):
        done = cold.run("hooks", "install", "--agent", "claude", *where, "--yes")
        assert done.returncode == 0, done.stderr
    cold.run("service", "install")
    states = cold.json("hooks", "status")["hooks"]

    said = cold.run("uninstall", "--yes").stdout
    (cold.home.workspaces / "project" / "fix").mkdir(parents=True)
    again = cold.run("uninstall", "--yes").stdout

    claudes = [each for each in states if each["agent"] == "claude"]
    assert [each["standing"] for each in claudes] == ["installed"] * 3
    assert [each["project"] for each in claudes] == [False, True, False]
    assert usual.read_text() == "{}"
    assert not (cold.project / ".claude").exists()
    assert not (cold.folder / "c").exists()
    assert not (cold.folder / ".config" / "systemd" / "user" / "rookery.service").exists()
    assert f"rm -r {cold.home.state}" in said
    assert "Worktrees" not in said
    assert "Nothing needs to be changed." in again
    assert f"perhaps with work in them:\n  {cold.home.workspaces}/project/fix\n" in again


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--user", "--project", "."], "only one of"),
        (["--config-dir", "x"], "--agent"),
        (["--agent", "claude", "--project", "/not/there"], "no folder"),
        ([], "No agent was found here"),
    ],
)
def test_what_cannot_be_meant_is_refused(cold: Rookery, words: list[str], said: str) -> None:
    cold.environment["PATH"] = "/usr/bin:/bin"

    done = cold.run("hooks", "install", *words, "--yes")

    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.spec("C1")
def test_an_agents_hooks_are_taken_out_wherever_they_are(cold: Rookery) -> None:
    places = [f"--config-dir={cold.folder / name}" for name in ("a", "b")]
    cold.run("hooks", "install", "--agent", "claude", *places, "--yes")
    cold.run("hooks", "install", "--agent", "codex", f"--config-dir={cold.folder / 'c'}", "-y")

    done = cold.run("hooks", "uninstall", "--agent", "claude", "--yes")

    left = [name for name in "abc" if (cold.folder / name).exists()]
    assert done.returncode == 0, done.stderr
    assert left == ["c"]


@pytest.mark.spec("C1")
def test_broken_settings_are_named_with_their_line_and_left_alone(cold: Rookery) -> None:
    file = cold.folder / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{\n  "a": 1,\n}')

    done = cold.run("hooks", "install", "--agent", "claude", "--yes")
    state = cold.json("hooks", "status", "--agent", "claude")["hooks"][0]

    assert done.returncode == 1
    assert f"{file}, line 3:" in done.stderr
    assert state["standing"] == "unreadable"
    assert file.read_text() == '{\n  "a": 1,\n}'
