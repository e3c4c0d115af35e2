"""The environment of agents: the user's own, wherever the daemon was started from."""

from __future__ import annotations

import os
import pwd
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

from rookery.agents.names import OWN_VARIABLES

#: Variables that a caller's terminal knows better than the login shell. None that could direct
#: an agent to another server or another configuration.
FROM_CALLER = (
    *("PATH", "SSH_AUTH_SOCK", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
)

#: Variables that the daemon passes to the login shell; the shell sets the rest.
_SEED = (
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
)

#: Variables of the terminal or the agent from which the daemon was started.
_FOREIGN = (
    *("TERM", "TERM_PROGRAM", "TMUX", "TMUX_PANE", *OWN_VARIABLES),
    *("PWD", "OLDPWD", "SHLVL", "PS1", "_"),
)

_MARK = "rookery-environment-follows"
_SHOW = (
    f"import os;print({_MARK!r},*(k+'='+v for k,v in os.environ.items()),{_MARK!r},sep='\\0')"
)

#: Seconds for the user's shell to read its start-up files.
SHELL_TIMEOUT_SECONDS = 10.0

#: Seconds for the shell to end after it has shown its environment, or has not in time.
EXIT_TIMEOUT_SECONDS = 0.5

_CHUNK_BYTES = 65_536


#: Waits for a login shell and returns its environment; the daemon's own if that fails.
Login: TypeAlias = Callable[[], dict[str, str]]


def ask_login_shell(daemon_environment: Mapping[str, str]) -> Login:
    """Start the user's login shell, which is slow; return a function that waits for it."""
    user = pwd.getpwuid(os.getuid())
    seed = {name: daemon_environment[name] for name in _SEED if name in daemon_environment}
    seed = {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name} | seed
    shell = seed.setdefault("SHELL", user.pw_shell or "/bin/sh")
    if Path(shell).name not in {"bash", "zsh", "fish", "sh", "dash", "ksh"}:
        return partial(clean, daemon_environment)
    try:
        process = subprocess.Popen(
            # Interactive, too: many users set PATH and keys only in .bashrc or .zshrc.
            [shell, "-i", "-l", "-c", f"'{sys.executable}' -I -S -c \"{_SHOW}\""],
            env={**seed, "TERM": "dumb"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=seed["HOME"],
        )
    except OSError:
        return partial(clean, daemon_environment)
    return partial(_read_environment, process, daemon_environment)


def _read_environment(
    process: subprocess.Popen[bytes], daemon_environment: Mapping[str, str]
) -> dict[str, str]:
    with process:
        output = os.fsdecode(_read_output(process))
        try:
            process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
    _, begun, rest = output.partition(_MARK + "\0")
    variables, ended, _ = rest.partition("\0" + _MARK)
    pairs = (each.partition("=") for each in variables.split("\0"))
    return (
        clean({name: value for name, _, value in pairs})
        if begun and ended
        else clean(daemon_environment)
    )


def _read_output(process: subprocess.Popen[bytes]) -> bytes:
    """Read up to the last mark: a program in the background may keep the output open."""
    assert process.stdout  # noqa: S101 - it is a pipe
    output, shown = b"", f"\0{_MARK}\n".encode()
    deadline = time.monotonic() + SHELL_TIMEOUT_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while shown not in output and selector.select(max(deadline - time.monotonic(), 0)):
            if not (chunk := os.read(process.stdout.fileno(), _CHUNK_BYTES)):
                break
            output += chunk
    return output


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Remove variables that belong to another terminal or another session."""
    return {
        name: value
        for name, value in environment.items()
        if name and name not in _FOREIGN and not name.startswith("ROOKERY_")
    }


def session_environment(
    login: Mapping[str, str], caller: Mapping[str, str], settings: Mapping[str, str]
) -> dict[str, str]:
    """Return an agent's environment; the configuration overrides the rest, except for UTF-8."""
    from_caller = {name: caller[name] for name in FROM_CALLER if caller.get(name)}
    environment = {**login, **from_caller, **settings}
    locale = (
        environment.get("LC_ALL")
        or environment.get("LC_CTYPE")
        or environment.get("LANG")
        or ""
    )
    if "UTF-8" not in locale.upper().replace("UTF8", "UTF-8"):
        environment |= {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    return environment | {"COLORTERM": environment.get("COLORTERM", "truecolor")}
