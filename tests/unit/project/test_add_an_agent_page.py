"""The page about adding an agent is true: what it says is done in a copy of the project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "how-to" / "add-an-agent.md").read_text(encoding="utf-8")

#: What the contract tests need, and what is copied with it.
COPIED = (
    *("pyproject.toml", "src/rookery", "tests/__init__.py", "tests/conftest.py"),
    *("tests/contract", "tests/support", "tests/recordings", "tests/unit/__init__.py"),
    *("tests/unit/agents", "tests/unit/hook_setup", "tests/unit/operations"),
    "docs/reference",
)

_BLOCK = re.compile(
    r"^```python\n# (?P<file>\S+\.py)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
_LISTING = re.compile(
    r"^```python\n(?P<code>from rookery\.agents import .*?)^```$", re.DOTALL | re.MULTILINE
)

RULE = "─" * 40

SCREENS = {
    "parrot-1.0": {
        "answered": f"> hello\nhello\n{RULE}\n>\n{RULE}",
        "draft": f"parrot 1.0\n{RULE}\n> half a thought\n{RULE}",
        "idle": f"parrot 1.0\n{RULE}\n>\n{RULE}",
        "permission": f"{RULE}\n Run this? echo one\n ❯ 1. Yes\n   2. No\n{RULE}",
        "quit-typed": f"parrot 1.0\n{RULE}\n> /bye\n{RULE}",
        "working": f"* Squawking (esc to stop)\n{RULE}\n>\n{RULE}",
    },
    "parrotlet-1.0": {
        "answered": "Parrotlet 1.0\nparrotlet> hello\n...\nhello\nparrotlet>",
        "draft": "Parrotlet 1.0\nparrotlet> half a thought",
        "idle": "Parrotlet 1.0\nparrotlet>\n\n",
        "quit-typed": "Parrotlet 1.0\nparrotlet> bye",
        "working": "Parrotlet 1.0\nparrotlet> hello\n...\n\n",
    },
}

NATIVE = "0e2ee8a4-43c5-4a27-a6be-0123456789ab"
LOG = f"/home/anna/.parrot/logs/{NATIVE}.jsonl"
COMMAND: dict[str, object] = {"tool_name": "Shell", "tool_input": {"command": "echo one"}}

HOOKS: dict[str, dict[str, dict[str, object]]] = {
    "parrot-1.0": {
        "PermissionRequest": COMMAND,
        "PostToolUse": {**COMMAND, "tool_response": {}},
        "PreToolUse": COMMAND,
        "SessionEnd": {"reason": "prompt_input_exit"},
        "SessionStart": {"model": "p1"},
        "Stop": {"last_assistant_message": "one"},
        "UserPromptSubmit": {"prompt": "run: echo one"},
    },
    "parrotlet-1.0": {
        "begin": {},
        "bye": {},
        "prompt": {"text": "hello"},
        "reply": {"text": "hello"},
    },
}

TRANSCRIPT = [
    {"timestamp": "2026-11-01T10:00:00Z", "role": "user", "text": "hello"},
    {"timestamp": "2026-11-01T10:00:01Z", "role": "parrot", "text": "hello"},
]


def payload_of(version: str, event: str, fields: dict[str, object]) -> dict[str, object]:
    if version == "parrotlet-1.0":
        return {"event": event, "conversation": "c1", "folder": "/code", **fields}
    sender = {"session_id": NATIVE, "cwd": "/code/project", "transcript_path": LOG}
    return {**sender, "hook_event_name": event, **fields}


@dataclass(frozen=True, slots=True)
class ProjectCopy:
    """A copy of the project, to which the agents of the page were added."""

    folder: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a Python module in the copy, for a user whose home is beside it."""
        places = {"HOME": str(self.home), "ROOKERY_HOME": str(self.folder / "rookery")}
        environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            **places,
            "PYTHONPATH": str(self.folder / "src"),
        }
        return subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def home(self) -> Path:
        return self.folder / "user"

    def add_agents(self) -> None:
        for found in _BLOCK.finditer(PAGE):
            file = self.folder / found["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(found["code"], encoding="utf-8")
        self._list_agents()
        self._state_modes()
        self._record()

    def _list_agents(self) -> None:
        """Change the lines of the list as the page says, for both agents."""
        listing = _LISTING.search(PAGE)
        assert listing
        file = self.folder / "src" / "rookery" / "agents" / "names.py"
        text = file.read_text()
        for line in filter(None, listing["code"].splitlines()):
            beginning = line.partition("claude")[0]
            (old,) = (each for each in text.splitlines() if each.startswith(beginning))
            text = text.replace(old, line.replace("parrot", "parrot, parrotlet"))
        file.write_text(text)

    def _state_modes(self) -> None:
        """State in a test, as the page says, how far the modes of an agent reach."""
        (stated,) = re.findall(r'^    "parrot": by_option\(.*\),$', PAGE, re.MULTILINE)
        file = self.folder / "tests" / "unit" / "operations" / "test_children.py"
        before, table, after = file.read_text().partition("\nREAD_OFF")
        head, brace, rest = after.partition("{\n")
        assert table
        file.write_text(f"{before}{table}{head}{brace}{stated}\n{rest}")

    def _record(self) -> None:
        for version, screens in SCREENS.items():
            folder = self.folder / "tests" / "recordings" / version
            (folder / "hooks").mkdir(parents=True)
            for name, text in screens.items():
                (folder / f"{name}.txt").write_text(text, encoding="utf-8")
            for event, fields in HOOKS[version].items():
                payload = json.dumps(payload_of(version, event, fields))
                (folder / "hooks" / f"{event}.json").write_text(payload)
        lines = "\n".join(map(json.dumps, TRANSCRIPT))
        (self.folder / "tests/recordings/parrot-1.0/transcript.jsonl").write_text(lines)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> ProjectCopy:
    copy = ProjectCopy(tmp_path_factory.mktemp("project"))
    without = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in COPIED:
        source, target = ROOT / name, copy.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=without)
        else:
            shutil.copy(source, target)
    copy.home.mkdir()
    copy.add_agents()
    return copy


def test_the_page_has_the_whole_package_and_the_case_of_each_agent() -> None:
    files = {found["file"] for found in _BLOCK.finditer(PAGE)}
    parts = {
        "parrot": ("__init__", "agent", "hooks", "keys", "screen", "settings", "transcript"),
        "parrotlet": ("__init__", "agent", "hooks", "screen", "settings"),
    }

    assert files == {
        *(f"src/rookery/agents/{name}/{each}.py" for name in parts for each in parts[name]),
        *(f"tests/support/contract/agents/{name}.py" for name in parts),
    }


@pytest.mark.timeout(300)
def test_the_agents_of_the_page_keep_the_contract(project: ProjectCopy) -> None:
    tests = ("tests/contract/test_agent.py", "tests/unit/agents", "tests/unit/hook_setup")
    modes = "tests/unit/operations/test_children.py"
    options = ("-q", "-p", "no:cacheprovider", "-k", "parrot or test_names or quick_commands")

    run = project.run("pytest", *options, *tests, modes)

    passed = re.search(r"(\d+) passed", run.stdout)
    assert run.returncode == 0, run.stdout + run.stderr
    assert passed
    assert int(passed[1]) > 100


def test_the_code_of_the_page_is_formatted_and_follows_the_rules(project: ProjectCopy) -> None:
    written = [found["file"] for found in _BLOCK.finditer(PAGE)]

    checked = project.run("ruff", "check", "--no-cache", *written)
    formatted = project.run("ruff", "format", "--no-cache", "--diff", *written)

    assert checked.returncode == 0, checked.stdout
    assert formatted.returncode == 0, formatted.stdout


@pytest.mark.spec("C1")
def test_hooks_of_an_agent_with_settings_of_its_own_shape_come_and_go(
    project: ProjectCopy,
) -> None:
    file = project.home / ".parrotlet" / "hooks.json"
    file.parent.mkdir()
    file.write_text('{"reply": ["say done"]}')
    ours = ("--agent", "parrotlet", "--user", "--yes")

    installed = project.run("rookery", "hooks", "install", *ours)
    commands = json.loads(file.read_text())
    status = project.run("rookery", "hooks", "status", "--agent", "parrotlet", "--json")
    removed = project.run("rookery", "hooks", "uninstall", *ours)

    assert (installed.returncode, removed.returncode) == (0, 0), installed.stderr
    assert list(commands) == ["reply", "begin", "prompt", "bye"]
    assert [each.rpartition("/")[2] for each in commands["reply"]] == [
        "say done",
        "rookery-hook parrotlet",
    ]
    assert json.loads(status.stdout)["hooks"][0]["standing"] == "installed"
    assert json.loads(file.read_text()) == {"reply": ["say done"]}


@pytest.mark.spec("C1")
def test_hooks_in_a_project_are_refused_if_the_agent_reads_none_there(
    project: ProjectCopy,
) -> None:
    run = project.run(
        *("rookery", "hooks", "install", "--agent", "parrotlet", "--project", ".", "--yes")
    )

    assert run.returncode != 0
    assert "Traceback" not in run.stderr
    assert "Parrotlet reads no hooks from projects" in run.stderr
    assert "rookery hooks install --agent parrotlet" in run.stderr
