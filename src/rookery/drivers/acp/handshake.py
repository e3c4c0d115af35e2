"""Open a session with an ACP agent: a new one, a branch, or one that goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import acp
from acp.client.connection import ClientSideConnection
from acp.schema import (
    ClientCapabilities,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    EnvVariable,
    FileSystemCapabilities,
    ForkSessionResponse,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    McpServerStdio,
    NewSessionResponse,
    ResumeSessionResponse,
)
from pydantic import ValidationError

from rookery.drivers.acp.options import AcpOptions
from rookery.drivers.driver import DriverError

_T = TypeVar("_T")

#: The error code of a request that needs the user to sign in first.
AUTH_REQUIRED = -32000

#: Seconds without an update after which the agent has replayed a loaded conversation, and the
#: longest time to wait for that: it may go on after the response.
REPLAY_QUIET_SECONDS, REPLAY_SECONDS = 0.3, 10.0


#: Questions may be asked as forms, but not as an address for the person to open.
_FORMS = ElicitationCapabilities(form=ElicitationFormCapabilities())


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session that accepts prompts."""

    session_id: str
    mode: str
    model: str


_Response = (
    NewSessionResponse | LoadSessionResponse | ResumeSessionResponse | ForkSessionResponse
)


class Handshake:
    def __init__(
        self,
        connection: ClientSideConnection,
        options: AcpOptions,
        folder: Path,
        updated: Callable[[], float],
    ) -> None:
        """Take ``updated``, which returns the time of the last update on the loop's clock."""
        self._connection = connection
        self._options = options
        self._folder = str(folder)
        self._updated = updated

    async def open(self) -> OpenedSession:
        """Return the open session. Raises ``DriverError`` with what to do about it."""
        greeting = await self._ask("initialize", self._initialize())
        if greeting.protocol_version != acp.PROTOCOL_VERSION:
            raise DriverError(
                f"it speaks version {greeting.protocol_version} of ACP; Rookery speaks version"
                f" {acp.PROTOCOL_VERSION}."
            )
        session_id, response = await self._session(greeting)
        return OpenedSession(
            session_id,
            await self._set_mode(session_id, response),
            await self._set_model(session_id, response),
        )

    def _initialize(self) -> Awaitable[InitializeResponse]:
        services = self._options.services
        return self._connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(
                fs=FileSystemCapabilities(
                    read_text_file="read" in services, write_text_file="write" in services
                ),
                terminal="terminal" in services,
                elicitation=_FORMS if self._options.forms else None,
            ),
            client_info=Implementation(name="rookery", version="1"),
        )

    async def _session(self, greeting: InitializeResponse) -> tuple[str, _Response]:
        options = self._options
        place = {"cwd": self._folder, "mcp_servers": self._servers(), **options.meta}
        can = greeting.agent_capabilities
        may = can.session_capabilities if can else None
        if options.forks:
            if not (may and may.fork):
                raise DriverError("this agent cannot branch a conversation over ACP.")
            forking = self._connection.fork_session(session_id=options.forks, **place)
            branch = await self._ask("session/fork", forking)
            return branch.session_id, branch
        if options.resumes:
            return options.resumes, await self._resumed(greeting, place)
        made = self._connection.new_session(**place)
        new = await self._ask("session/new", made)
        return new.session_id, new

    async def _resumed(self, greeting: InitializeResponse, place: dict[str, Any]) -> _Response:
        """Go on with a conversation, without the earlier messages if the agent can do so."""
        can, native_id = greeting.agent_capabilities, self._options.resumes
        if can and can.session_capabilities and can.session_capabilities.resume:
            resuming = self._connection.resume_session(session_id=native_id, **place)
            return await self._ask("session/resume", resuming)
        if can and can.load_session:
            loading = self._connection.load_session(session_id=native_id, **place)
            loaded = await self._ask("session/load", loading)
            await self._until_replayed()
            return loaded
        raise DriverError("this agent cannot continue a conversation over ACP.")

    async def _until_replayed(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + REPLAY_SECONDS
        while loop.time() < (quiet := min(self._updated() + REPLAY_QUIET_SECONDS, end)):
            is_quiet = asyncio.Event()
            loop.call_at(quiet, is_quiet.set)
            await is_quiet.wait()

    def _servers(self) -> list[Any]:
        if not self._options.tools:
            return []
        program, *arguments = self._options.tools
        badge = EnvVariable(name="ROOKERY_BADGE", value=self._options.badge)
        return [McpServerStdio(name="rookery", command=program, args=arguments, env=[badge])]

    async def _set_mode(self, session_id: str, response: _Response) -> str:
        """Set the permission mode; return the one that holds."""
        wanted, modes = self._options.mode, response.modes
        current = modes.current_mode_id if modes else _value(response, "mode")
        if not wanted or wanted == current:
            return current
        offered = [each.id for each in modes.available_modes] if modes else []
        if modes is None:
            await self._set_option(session_id, response, "mode", wanted)
        elif wanted in offered:
            setting = self._connection.set_session_mode(session_id=session_id, mode_id=wanted)
            await self._ask("session/set_mode", setting)
        else:
            raise DriverError(
                f"it has no mode {wanted!r} over ACP. It has: {', '.join(offered)}."
            )
        return wanted

    async def _set_model(self, session_id: str, response: _Response) -> str:
        wanted, current = self._options.model, _value(response, "model")
        current = "" if current == "default" else current
        if not wanted or wanted == current:
            return current
        await self._set_option(session_id, response, "model", wanted)
        return wanted

    async def _set_option(
        self, session_id: str, response: _Response, category: str, value: str
    ) -> None:
        option = _option(response, category)
        if option is None:
            raise DriverError(f"it offers no choice of the {category} over ACP.")
        setting = self._connection.set_config_option(
            config_id=option.id, session_id=session_id, value=value
        )
        try:
            await self._ask("session/set_config_option", setting)
        except DriverError as error:
            offered = ", ".join(_values(option))
            raise DriverError(
                f"it does not accept the {category} {value!r}: {error} It offers: {offered}."
            ) from error

    async def _ask(self, method: str, request: Awaitable[_T]) -> _T:
        try:
            return await request
        except acp.RequestError as error:
            if error.code == AUTH_REQUIRED:
                advice = self._options.sign_in or "Sign in with its own program first."
                raise DriverError(f"it is not signed in. {advice}") from error
            raise DriverError(f"{method} failed: {explain(error)}") from error
        except ValidationError as error:
            raise DriverError(
                f"it does not speak ACP: its answer to {method} is none"
            ) from error


#: The names of the error codes of JSON-RPC.
_CODE_NAMES = frozenset({"Internal error", "Invalid params", "Invalid request"})


def explain(error: acp.RequestError) -> str:
    """Return the text of an error, with its details."""
    text, details = within_json(str(error).strip()), error.data
    if isinstance(details, dict):
        details = details.get("details") or details.get("message") or details.get("error")
    if not isinstance(details, str) or not details.strip() or details.strip() in text:
        return text
    # The name of the error's code says nothing that the details do not say.
    return details.strip() if text in _CODE_NAMES else f"{text}: {details.strip()}"


def within_json(text: str) -> str:
    """Return the message of an API's error, which some agents pass on as JSON."""
    try:
        match json.loads(text):
            case {"error": {"message": str(message)}}:
                return message
    except ValueError:
        pass
    return text


def _option(response: _Response, category: str) -> Any:  # noqa: ANN401 - two unrelated classes
    """Return the select option of a category; ``None`` if the agent has none."""
    found = (each for each in response.config_options or () if each.category == category)
    return next((each for each in found if each.type == "select"), None)


def _value(response: _Response, category: str) -> str:
    option = _option(response, category)
    return str(option.current_value) if option else ""


def _values(option: Any) -> list[str]:  # noqa: ANN401 - see ``_option``
    """Return the values of a select option, those in groups, too."""
    groups = [each for each in option.options if hasattr(each, "options")]
    single = [each for each in option.options if not hasattr(each, "options")]
    return [
        each.value for each in [*single, *(one for group in groups for one in group.options)]
    ]
