from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rookery import environment
from rookery.environment import FROM_CALLER, ask_login_shell, clean, session_environment

#: Runs what a login shell is asked to run, as its last argument.
RUN = 'for last; do :; done; eval "$last"'

Shell = Callable[[str], dict[str, str]]


@pytest.fixture
def ask(tmp_path: Path) -> Shell:
    """Ask a login shell that does what ``script`` says."""

    def ask(script: str) -> dict[str, str]:
        shell = tmp_path / "sh"
        shell.write_text(f"#!/bin/sh\n{script}\n")
        shell.chmod(0o700)
        own = {"SHELL": str(shell), "HOME": str(tmp_path), "USER": "anna", "OWN": "daemon's"}
        return ask_login_shell(own)()

    return ask


@pytest.mark.spec("A3")
def test_an_agent_sees_what_the_users_login_shell_sets(ask: Shell, tmp_path: Path) -> None:
    found = ask(f"export PATH=/users/own EDITOR='my ed' LINES_='a\nb'; {RUN}")

    assert (found["PATH"], found["EDITOR"], found["LINES_"]) == ("/users/own", "my ed", "a\nb")
    assert (found["HOME"], found["USER"]) == (str(tmp_path), "anna")
    assert "OWN" not in found


@pytest.mark.spec("A3")
def test_the_shell_is_asked_as_a_person_uses_it(ask: Shell) -> None:
    found = ask(f'export HOW="$1 $2"; {RUN}')

    assert found["HOW"] == "-i -l"


@pytest.mark.spec("A3")
def test_what_a_profile_prints_is_no_variable(ask: Shell) -> None:
    found = ask(f"echo Welcome; printf 'A=noise\\0B=noise'; echo oops >&2; export C=3; {RUN}")

    assert found["C"] == "3"
    assert not {"A", "B", "Welcome"} & set(found)


@pytest.mark.spec("A3")
def test_what_a_profile_prints_on_leaving_is_no_variable(ask: Shell) -> None:
    found = ask(f"export PATH=/users/own; {RUN}; echo logout")

    assert not [name for name, value in found.items() if "logout" in name + value]


@pytest.mark.spec("A3", "K4")
def test_a_program_that_a_profile_leaves_with_its_output_hides_nothing(ask: Shell) -> None:
    found = ask(f"sleep 20 & export PATH=/users/own; {RUN}")

    assert found["PATH"] == "/users/own"


@pytest.mark.spec("A3")
def test_a_variable_that_is_no_text_does_not_hide_the_others(ask: Shell) -> None:
    found = ask(f"LANG=C.UTF-8 A=$(printf '\\377') Z=last; export LANG A Z; {RUN}")

    assert found["Z"] == "last"


@pytest.mark.spec("A3", "K4")
@pytest.mark.parametrize("script", ["exit 1", "echo nothing of use", "exec sleep 1000"])
def test_a_shell_that_does_not_answer_is_given_up(
    ask: Shell, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(environment, "SHELL_TIMEOUT_SECONDS", 0.2)

    assert ask(script)["OWN"] == "daemon's"


@pytest.mark.spec("K4")
@pytest.mark.parametrize("shell", ["/no/such/sh", "/usr/bin/python3", "/bin/false"])
def test_a_shell_that_cannot_be_asked_is_not(shell: str) -> None:
    assert ask_login_shell({"SHELL": shell, "OWN": "daemon's"})() == {
        "SHELL": shell,
        "OWN": "daemon's",
    }


def test_what_belongs_to_another_terminal_or_session_is_taken_out() -> None:
    foreign = {
        "TMUX": "/tmp/tmux,1,0",  # noqa: S108 - a name, not a file
        "TMUX_PANE": "%1",
        "ROOKERY_BADGE": "secret",
        "ROOKERY_HOME": "/r",
        "CLAUDECODE": "1",
        "PWD": "/elsewhere",
        "OLDPWD": "/before",
        "SHLVL": "3",
        "_": "/bin/rookery",
        "PS1": "$",
        "TERM": "xterm",
        "TERM_PROGRAM": "iTerm",
        "": "nameless",
    }

    assert clean({**foreign, "PATH": "/bin", "MY_ROOKERY_": "kept"}) == {
        "PATH": "/bin",
        "MY_ROOKERY_": "kept",
    }


def test_the_fallback_is_clean_too() -> None:
    own = {"SHELL": "/bin/false", "ROOKERY_BADGE": "secret", "TMUX": "x"}

    assert ask_login_shell(own)() == {"SHELL": "/bin/false"}


@pytest.mark.spec("A3")
def test_a_caller_adds_only_what_its_terminal_knows_better() -> None:
    login = {"PATH": "/bin", "EDITOR": "ed", "LANG": "de_DE.UTF-8"}
    caller = {
        **dict.fromkeys(FROM_CALLER, "C.UTF-8"),
        "EDITOR": "evil",
        "LD_PRELOAD": "evil.so",
        "ANTHROPIC_BASE_URL": "http://evil",
    }

    made = session_environment(login, caller, {})

    assert {name: made[name] for name in FROM_CALLER} == dict.fromkeys(FROM_CALLER, "C.UTF-8")
    assert made["EDITOR"] == "ed"
    assert not {"LD_PRELOAD", "ANTHROPIC_BASE_URL"} & set(made)
    assert set(FROM_CALLER) == {
        *("PATH", "SSH_AUTH_SOCK", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
        *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
    }


def test_what_a_caller_sets_to_nothing_stays_as_it_is() -> None:
    assert session_environment({"PATH": "/bin"}, {"PATH": ""}, {})["PATH"] == "/bin"


def test_the_configuration_has_the_last_word() -> None:
    made = session_environment({"PATH": "/a", "X": "1"}, {"PATH": "/b"}, {"PATH": "/c"})

    assert (made["PATH"], made["X"]) == ("/c", "1")


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    "locale",
    [
        {},
        {"LANG": "C"},
        {"LANG": "de_DE.ISO-8859-1"},
        {"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"},
        {"LANG": "en_US.UTF-8", "LC_ALL": "C"},
        {"LANG": "en_US.UTF-8", "LC_CTYPE": "C"},
    ],
)
def test_utf_8_is_forced_where_it_is_not_set(locale: dict[str, str]) -> None:
    made = session_environment(locale, {}, {})

    assert made.get("LC_ALL") == "C.UTF-8"


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    "locale",
    [
        {"LANG": "de_DE.UTF-8"},
        {"LANG": "de_DE.utf8"},
        {"LANG": "C", "LC_ALL": "en_US.UTF-8"},
    ],
)
def test_utf_8_of_the_users_own_choice_is_left_alone(locale: dict[str, str]) -> None:
    made = session_environment(locale, {}, {})

    assert {name: made.get(name) for name in locale} == locale


def test_colours_are_promised_unless_somebody_knows_better() -> None:
    assert session_environment({}, {}, {})["COLORTERM"] == "truecolor"
    assert session_environment({"COLORTERM": "no"}, {}, {})["COLORTERM"] == "no"
