from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest
from pydantic import ValidationError

from rookery.agent_settings import AgentSettings
from rookery.config import LimitSettings, Settings, load
from rookery.model.errors import ConfigBroken


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def test_a_missing_file_is_an_empty_one(path: Path) -> None:
    assert load(path) == load(write(path, "")) == Settings()


def test_what_holds_where_nothing_is_set_is_what_the_specification_says(path: Path) -> None:
    settings = load(path)

    assert settings.computer == socket.gethostname()
    assert settings.limits == LimitSettings(
        start_deadline=60,
        tmux_sessions=100,
        driven_sessions=5,
        driven_idle_minutes=30,
        budget_usd=5,
        silence_seconds=15,
        output_blocks=200,
        inactive_hours=72,
        listed_hours=1,
        kept_sessions=10_000,
        retention_days=90,
        scrollback_lines=10_000,
        live_ring_kb=256,
        quit_seconds=5,
        terminate_seconds=5,
        typing_seconds=3,
    )
    assert settings.environment == {}
    assert settings.agents == {}


@pytest.mark.parametrize("key", sorted(LimitSettings.model_fields))
def test_every_limit_can_be_set(path: Path, key: str) -> None:
    settings = load(write(path, f"[limits]\n{key} = 123\n"))

    assert getattr(settings.limits, key) == 123
    assert (
        settings.limits.model_copy(update={key: getattr(LimitSettings(), key)})
        == LimitSettings()
    )


def test_doors_and_trust_can_be_set(path: Path) -> None:
    before = load(path)

    after = load(write(path, "[http]\nenabled = false\nport = 0\n[trust]\nsessions = 'all'"))

    assert (before.http.enabled, before.http.port) == (True, 4870)
    assert (after.http.enabled, after.http.port) == (False, 0)
    assert (before.trust.sessions, after.trust.sessions) == ("family", "all")


def test_where_agents_are_looked_for_can_be_set(path: Path) -> None:
    before = load(path).discovery

    text = "[discovery]\nenabled = false\ntmux_sockets = ['/run/tmux']"
    after = load(write(path, text)).discovery

    assert (before.enabled, before.tmux_sockets) == (True, ())
    assert (after.enabled, after.tmux_sockets) == (False, ("/run/tmux",))


def test_how_an_agent_is_run_can_be_set(path: Path) -> None:
    text = """
        computer = "rook"
        environment = { EDITOR = "ed" }
        [agents.demo]
        command = ["/opt/demo", "--fast"]
        arguments = ["-v"]
        environment = { KEY = "value" }
    """

    settings = load(write(path, text))

    assert (settings.computer, settings.environment) == ("rook", {"EDITOR": "ed"})
    assert settings.agent("demo") == AgentSettings(
        command=("/opt/demo", "--fast"), arguments=("-v",), environment={"KEY": "value"}
    )
    assert settings.agent("shell") == AgentSettings()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("colour = 'red'", "'colour'. There are: computer, default_agent, autostart, "),
        ("[profiles.fast]\ntags = ['x']", "'profiles.fast.tags'. There are: agent, "),
        ("[limits.x]\ny = 1", "'limits.x'. There are: start_deadline, "),
        (
            "[limits]\nstart_dedline = 5",
            "'limits.start_dedline'. Did you mean start_deadline?",
        ),
        ("[agents.demo]\ncomand = []", "'agents.demo.comand'. Did you mean command?"),
        ("defualt_agent = 'demo'", "'defualt_agent'. Did you mean default_agent?"),
    ],
)
def test_an_unknown_key_is_told_which_one_may_be_meant(path: Path, text: str, key: str) -> None:
    with pytest.raises(ConfigBroken, match=re.escape(f"there is no key {key}")):
        load(write(path, text))


def test_all_errors_of_a_file_are_told_at_once(path: Path) -> None:
    text = "[limits]\nstart_dedline = 5\nstart_deadline = 0\n[http]\nx = 1\nyy = 1\n"

    with pytest.raises(ConfigBroken) as broken:
        load(write(path, text))

    assert str(broken.value).endswith(
        "'limits.start_deadline' must be more than 0.0, not 0."
        " Also: there is no key 'limits.start_dedline'. Did you mean start_deadline?"
        " Also: there is no key 'http.x'. There are: enabled, port."
        " Also: there is no key 'http.yy'."
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (
            "[limits]\nstart_deadline = 0",
            "'limits.start_deadline' must be more than 0.0, not 0",
        ),
        (
            "[limits]\ntmux_sessions = 'many'",
            "'limits.tmux_sessions' must be a whole number, not 'many'",
        ),
        ("[limits]\nkept_sessions = 0", "'limits.kept_sessions' must be at least 1, not 0"),
        ("[limits]\ninactive_hours = nan", "'limits.inactive_hours' must be a finite number"),
        (
            "[agents.demo]\ncommand = 'demo'",
            "'agents.demo.command' must be a list in brackets, not 'demo'",
        ),
        ("[http]\nport = 70000", "'http.port' must be at most 65535, not 70000"),
        ("[trust]\nsessions = 'x'", "'trust.sessions' must be 'family' or 'all', not 'x'"),
        ("limits = 5", "'limits' must be a table, not 5"),
        ("environment = { A = 5 }", "'environment.A' must be a text in quotes, not 5"),
        ("default_agent = 'shell'", "'default_agent' is wrong: it must be one of claude, "),
        (
            "[workspaces]\nroot = '~no-user/w'",
            "'~no-user/w': the home of this user is not known",
        ),
        (
            "[workspaces.repositories.'~no-user/w']\nsetup = ['x']",
            "'~no-user/w': the home of this user is not known",
        ),
    ],
)
def test_a_value_that_cannot_be_is_told_in_plain_words(path: Path, text: str, key: str) -> None:
    with pytest.raises(ConfigBroken, match=re.escape(key)):
        load(write(path, text))


@pytest.mark.spec("K4")
@pytest.mark.parametrize("value", ["inf", "1e300"])
@pytest.mark.parametrize(
    "key", ["inactive_hours", "retention_days", "start_deadline", "quit_seconds"]
)
def test_a_span_without_an_end_is_refused(path: Path, key: str, value: str) -> None:
    with pytest.raises(ConfigBroken, match=key):
        load(write(path, f"[limits]\n{key} = {value}"))


@pytest.mark.spec("K4")
@pytest.mark.parametrize("text", ["[limits\n", "a = \n", "a = 1\na = 2\n"])
def test_a_file_that_is_not_toml_is_named_with_the_place(path: Path, text: str) -> None:
    with pytest.raises(ConfigBroken, match=r"config\.toml is not TOML: .*line"):
        load(write(path, text))


@pytest.mark.spec("K4")
def test_a_file_that_is_not_text_is_named(path: Path) -> None:
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(ConfigBroken, match=r"config\.toml"):
        load(path)


@pytest.mark.spec("K4")
def test_a_folder_in_its_place_is_named(path: Path) -> None:
    path.mkdir()

    with pytest.raises(ConfigBroken, match=r"config\.toml"):
        load(path)


@pytest.mark.spec("K1")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_change_is_refused_with_the_remedy(
    path: Path, mode: int
) -> None:
    write(path, "computer = 'theirs'").chmod(mode)

    with pytest.raises(ConfigBroken, match="chmod go-w"):
        load(path)


@pytest.mark.spec("K1")
def test_a_file_that_others_can_only_read_is_taken(path: Path) -> None:
    write(path, "computer = 'mine'").chmod(0o644)

    assert load(path).computer == "mine"


@pytest.mark.spec("K1")
def test_a_file_of_somebody_else_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, "computer = 'theirs'")
    mine = os.getuid()
    if mine == 0:  # what root owns is trusted by everybody
        os.chown(path, 12_345, -1)
    else:
        monkeypatch.setattr("os.getuid", lambda: mine + 1)

    with pytest.raises(ConfigBroken, match="changed by others"):
        load(path)


@pytest.mark.spec("K4")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r'computer = "a\nb"', "one line"),
        ('computer = " "', "one line"),
        ('environment = {"A=B" = "x"}', "'A=B' cannot be the name"),
        ('environment = {"" = "x"}', "cannot be the name"),
        (r'environment = {A = "x\u0000"}', "NUL"),
        (r'agents.claude.environment = {"A\u0000" = "x"}', "NUL"),
        (r'agents.claude.arguments = ["x\u0000"]', "NUL"),
    ],
)
def test_what_no_program_can_be_given_is_refused(path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigBroken, match=said):
        load(write(path, text))


@pytest.mark.spec("K4")
def test_a_configuration_that_is_no_regular_file_is_refused_unread(path: Path) -> None:
    os.mkfifo(path)

    with pytest.raises(ConfigBroken, match="not a regular file"):
        load(path)


@pytest.mark.spec("B6")
def test_the_key_for_more_folders_of_an_agent_is_its_own() -> None:
    listed = {"discovery": {"claude_config_dirs": ["~/other"]}}

    settings = Settings.model_validate(listed)

    assert settings.discovery.session_file_folders == ("~/other",)
    assert settings.model_dump()["discovery"]["claude_config_dirs"] == ("~/other",)
    with pytest.raises(ValidationError):
        Settings.model_validate({"discovery": {"session_file_folders": ["~/other"]}})


@pytest.mark.spec("H4")
def test_channels_of_notifications_are_off_until_they_are_turned_on(path: Path) -> None:
    before = load(path).notifications
    text = """
        [notifications]
        reminder_minutes = 0
        [notifications.command]
        run = ["~/bin/tell", "--loud"]
        [notifications.desktop]
        enabled = true
        kinds = ["needs-you", "failed"]
        sounds = { needs-you = "bell" }
    """

    after = load(write(path, text)).notifications

    assert (before.kinds, before.reminder_minutes, before.tmux) == ({}, 10, True)
    assert {name: [*each] for name, each in after.kinds.items()} == {
        "command": ["needs-you", "finished", "failed", "limit", "overlap"],
        "desktop": ["needs-you", "failed"],
    }
    assert after.desktop.sounds == {"needs-you": "bell"}


@pytest.mark.parametrize(
    "text",
    [
        "[notifications.desktop]\nkinds = ['all']",
        "[notifications.command]\nrun = ['a\\u0000b']".replace("'", '"'),
        "[notifications.telegram]\nenabled = true",
        "[notifications]\nbatch_seconds = nan",
    ],
)
def test_a_wrong_setting_of_notifications_is_refused(path: Path, text: str) -> None:
    with pytest.raises(ConfigBroken, match="notifications"):
        load(write(path, text))
