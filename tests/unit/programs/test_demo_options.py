"""The demo agent's command line and settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rookery.programs.demo import options
from rookery.programs.demo.hooks import HookCommand

SESSION = "6b1a2f9e-6a5c-4f0e-9d55-0d6f3a4b7c11"


def test_a_resumed_session_keeps_its_name() -> None:
    asked = options.read(["--resume", SESSION])

    assert (asked.session_id, asked.source) == (SESSION, "resume")


def test_the_environment_names_the_folder_of_the_transcripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOKERY_DEMO_HOME", str(tmp_path))

    assert options.read([]).home == tmp_path


@pytest.mark.parametrize(
    "arguments", [["--session-id", "me"], ["--settings", "/nowhere"], ["--what"]]
)
def test_a_command_line_that_cannot_be_read_ends_it(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        options.read(arguments)


def test_commands_are_split_into_words() -> None:
    hook = {"type": "command", "command": "tell 'the daemon' now", "timeout": 20}

    hooks = options.read_hooks(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))

    assert hooks == {"Stop": (HookCommand(("tell", "the daemon", "now"), 20.0),)}


def test_a_command_has_a_minute_if_nothing_is_said() -> None:
    hook = {"type": "command", "command": "tell"}

    hooks = options.read_hooks(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))

    assert hooks["Stop"] == (HookCommand(("tell",), options.DEFAULT_HOOK_TIMEOUT_S),)


@pytest.mark.parametrize(
    "hook",
    [{}, 3, {"type": "http", "url": "x"}, {"type": "command", "command": "'open"}],
)
def test_a_hook_that_cannot_be_run_is_passed_over(hook: object) -> None:
    assert options.read_hooks(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}})) == {
        "Stop": ()
    }


@pytest.mark.parametrize("text", ["{}", "[]", '{"hooks": 1}'])
def test_settings_may_have_no_hooks(text: str) -> None:
    assert options.read_hooks(text) == {}
