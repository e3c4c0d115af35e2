"""Profiles of the configuration, with the real programs."""

from __future__ import annotations

import json

import pytest

from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery, eventually
from tests.support.scripted_model.server import ModelServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(120), pytest.mark.spec("I5")]


def test_a_program_runs_with_the_command_and_the_variables_of_its_profile(
    cold: Rookery,
) -> None:
    cold.configure(
        '[profiles.talk]\nagent = "shell"\ncommand = ["/bin/sh", "-c"]\n'
        """arguments = ["echo I am $ACCOUNT; exec sleep 1000"]\n"""
        'environment = { ACCOUNT = "anna" }\n'
    )
    cold.up()

    done = cold.run("start", "--profile", "talk", "--name", "it")

    assert done.returncode == 0, done.stderr
    eventually(lambda: "I am anna" in cold.screen("it"))
    assert cold.session("it")["profile"] == "talk"
    assert "anna" not in cold.run("config").stdout


def test_claude_uses_the_account_of_its_profile_also_after_a_resume(
    cold: Rookery, models: ModelServer
) -> None:
    configure(cold, models.url)
    text = cold.home.settings.read_text()
    account = cold.folder / "claude"
    line = f"CLAUDE_CONFIG_DIR = {json.dumps(str(account))}\n"
    profile = f'[profiles.work]\nagent = "claude"\nconfig_dir = "{account}"\n'
    cold.configure(text.replace(line, "") + profile)
    cold.up()

    cold.run("start", "-P", "work", "--name", "it", "--wait", "say: Hello")
    first = cold.session("it")
    cold.run("end", "it")
    cold.run("resume", "it", "--wait", "say: Again")

    again = cold.session("it")
    assert line in text
    assert first["transcript_path"].startswith(str(account))
    assert again["transcript_path"].startswith(str(account))
    assert (again["profile"], again["continues"]) == ("work", first["id"])
    assert cold.json("output", "it")["turns"][-1]["answer"] == "Again"
