"""The part of the user's configuration about the programs of agents, and its defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _check_words(command: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in word for word in command):
        raise ValueError("no program can be given a NUL character")
    return command


def _check_environment(environment: dict[str, str]) -> dict[str, str]:
    for name, value in environment.items():
        if not name or "=" in name:
            raise ValueError(f"{name!r} cannot be the name of a variable")
        _check_words((name, value))
    return environment


def _check_folder(path: str) -> str:
    if path and not path.startswith(("/", "~/")):
        raise ValueError("it must be an absolute path, or begin with ~/")
    _check_words((path,))
    return path


#: Arguments of a command line.
Words = Annotated[tuple[str, ...], AfterValidator(_check_words)]

#: Environment variables that any program accepts.
Variables = Annotated[dict[str, str], AfterValidator(_check_environment)]


class AgentSettings(BaseModel):
    """How one agent's program is run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Words = ()  #: the command to run instead of the default program
    arguments: Words = ()  #: inserted before Rookery's own arguments
    #: The command that speaks the Agent Client Protocol, for sessions in the runtime `acp`. An
    #: agent that Rookery does not know needs it, and has this runtime only.
    acp: Words = ()
    runtime: str = "tmux"  #: where its sessions run, if a start does not choose
    #: How messages reach its sessions in a terminal: typed by `keys`, or through the agent's
    #: own message `queue`, which types nothing. Only Codex has such a queue.
    messages: Literal["keys", "queue"] = "keys"
    environment: Variables = Field(default_factory=dict)  #: variables for this agent alone


class ProfileSettings(BaseModel):
    """A named way to start an agent: `rookery start --profile NAME`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str  #: the agent that it starts
    command: Words = ()  #: the command to run instead of the agent's
    arguments: Words = ()  #: added to the arguments that are configured for the agent
    model: str = ""  #: the model; empty for the agent's own choice
    permission_mode: str = ""  #: the permission mode; empty for the agent's own
    environment: Variables = Field(default_factory=dict)  #: variables, which override others
    #: The agent's configuration folder, with the account that it uses.
    config_dir: Annotated[str, AfterValidator(_check_folder)] = ""
