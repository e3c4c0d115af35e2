"""Generate pages of docs/reference from the source; with --check only report stale ones."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from rookery import agent_settings, config
from rookery.api.events import CALLED
from rookery.api.rpc.catalog import GATEWAY_METHODS
from rookery.api.rpc.endpoint import MAX_BATCH_REPLY_BYTES
from rookery.api.rpc.errors import SERVER_ERRORS, STANDARD_ERRORS
from rookery.api.rpc.gateway_shapes import SessionItem, SessionItems
from rookery.api.rpc.methods import OPERATION_METHODS, RpcMethod
from rookery.api.rpc.shapes import MAX_BATCH_CALLS
from rookery.cli import exit_codes
from rookery.cli.root import rookery
from rookery.config import Settings
from rookery.model.facts import KINDS
from rookery.model.obstacles import BlockedReason
from rookery.operations.catalog import OPERATIONS

FOLDER = Path(__file__).parents[1] / "docs" / "reference"


def commands() -> Iterator[str]:
    yield "# Commands\n\nThe output of `--help`, command by command.\n"
    yield "## Exit codes\n\n| code | meaning |\n|---|---|"
    yield "| 0 | done |"
    yield f"| {exit_codes.FAILED} | failed or refused; for `wait`, `start --wait`, `run` and `ask` also: the session or its last turn failed |"
    yield f"| {exit_codes.USAGE} | usage error; the message says what to change |"
    yield f"| {exit_codes.NOT_RUNNING} | no daemon answers; sessions keep running |"
    yield f"| {exit_codes.NOT_DONE_IN_TIME} | timed out; nothing was stopped |"
    yield f"| {exit_codes.UNKNOWN} | no such session, relay, request or token |"
    yield f"| {exit_codes.PERSON_NEEDED} | the agent asks its person something, and standard input is no terminal (`--on-permission wait` waits) |"
    yield f"| {exit_codes.INTERRUPTED} | stopped with Ctrl-C; sessions keep running |"
    for path, command in _walk(rookery, ("rookery",)):
        context = click.Context(
            command,
            info_name=" ".join(path),
            terminal_width=88,
            help_option_names=["-h", "--help"],
        )
        yield f"\n## {' '.join(path)}\n\n```\n{command.get_help(context)}\n```"


def _walk(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        if command.invoke_without_command:
            yield path, command
        context = click.Context(command)
        for name in sorted(command.list_commands(context)):
            if each := command.get_command(context, name):
                yield from _walk(each, (*path, name))
    else:
        yield path, command


def configuration() -> Iterator[str]:
    yield "# Configuration\n\nA TOML file; `rookery config path` prints its path. Unknown keys are errors."
    yield "Changes take effect at the next `rookery up`.\n"
    yield "| key | default | allowed | meaning |\n|---|---|---|---|"
    yield from _keys(Settings, "")
    yield from _keys(agent_settings.AgentSettings, "agents.NAME.")
    yield from _keys(agent_settings.ProfileSettings, "profiles.NAME.")
    yield from _keys(config.Price, "prices.MODEL.")


def _keys(model: type[BaseModel], prefix: str) -> Iterator[str]:
    source = inspect.getsource(model)
    for name, field in model.model_fields.items():
        kind = field.annotation
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            yield from _keys(kind, f"{prefix}{name}.")
        elif name not in {"agents", "profiles", "prices"}:
            said = re.search(rf"^    {name}: .*?#: (.*)$", source, re.MULTILINE)
            above = re.search(rf"((?:^    #: .*\n)+)    {name}: ", source, re.MULTILINE)
            meaning = re.sub(r"\s*#: ", " ", (said or above or [""] * 2)[1]).strip()
            default = "the host's name" if name == "computer" else _default_text(field)
            meaning = f"{meaning[0].upper()}{meaning[1:].removesuffix('.')}."
            key = f"{prefix}{field.alias or name}"
            yield f"| `{key}` | {default} | {_allowed(field)} | {meaning} |"


def _allowed(field: FieldInfo) -> str:
    """Return the values that a key accepts, if not all of its type."""
    if get_origin(field.annotation) is Literal:
        return ", ".join(_written(each) for each in get_args(field.annotation))
    signs = {"gt": ">", "ge": "≥", "le": "≤"}
    bounds = (
        (sign, getattr(each, name, None))
        for each in field.metadata
        for name, sign in signs.items()
    )
    return ", ".join(f"{sign} {bound:,}" for sign, bound in bounds if bound is not None)


def _written(value: object) -> str:
    """Return a default as TOML, for a cell of a table; ``None`` cannot be written in TOML."""
    if value is None:
        return "none"
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text}`".replace("|", r"\|")


def _default_text(field: FieldInfo) -> str:
    if field.is_required():
        return "(required)"
    return _written(field.get_default(call_default_factory=True))


def api() -> Iterator[str]:
    yield "# HTTP\n\nOn the unix socket `rookery.sock` in the home's folder `run` for the owner, and on loopback"
    yield "with a bearer token. `rookery status` shows the address, `rookery token mint` makes a token, and"
    yield "the owner's own token is in the home's file `token`. Requests and answers are JSON; errors are"
    yield '`{"error": {"code", "message"}}`. A POST may have an `Idempotency-Key`: a repeated request is'
    yield "executed once and gets the same answer. `/v1/openapi.json` describes the shapes."
    yield "\nRead the address from the home's file `url`, which exists while the port is open. Do not guess"
    yield "it: if the default port is taken, another one is used, and the program that has the default one"
    yield "would get the token. If a port that is set as `http.port` is taken, it is not replaced: HTTP is"
    yield "off then, and `rookery up`, `status` and `doctor` say so.\n"
    yield "| operation | | needs | |\n|---|---|---|---|"
    for each in OPERATIONS:
        summary = (inspect.getdoc(each.run) or "").split("\n")[0]
        yield f"| {each.name} | `{each.method} {each.path}` | {each.need} | {summary} |"
    yield "| events | `GET /v1/events` | read | Server-sent events or a WebSocket: a snapshot, then every fact. Both continue after the entry in the header `Last-Event-ID` or `?after=N`. With `until_now=true` only the stored facts. |"
    yield "| frames | `GET /v1/sessions/{session}/frames` | read | A session's screen, as it changes. |"
    yield "| metrics | `GET /metrics` | read | Figures for Prometheus, in its text formats; only with `metrics.enabled`, and not for sessions. |"
    yield "| rpc | `POST /rpc` | | The same operations as methods of [JSON-RPC](json-rpc.md). |"
    yield "\n## Why a message waits\n\nA message that waits, in every answer that has one, has the field `blocked`:"
    yield "`{code, detail}`, or null. The detail is a text for people; programs use the code."
    yield "An error `occupied` has the code in `details.blocked`.\n"
    yield "| code | meaning |\n|---|---|"
    source = inspect.getsource(BlockedReason)
    for code, meaning in re.findall(r' = "(.*?)"  #: (.*)', source):
        yield f"| `{code}` | {meaning} |"
    yield "\n## Facts\n\n| kind | fields |\n|---|---|"
    for name, fact in KINDS.items():
        fields = (CALLED.get(each, each) for each in fact.__match_args__)
        yield f"| `{name}` | {', '.join(fields)} |"


def rpc() -> Iterator[str]:
    yield "# JSON-RPC\n\nJSON-RPC 2.0, by `POST /rpc` at the same addresses as [HTTP](http.md), with the same tokens, rights"
    yield "and checks. The content type is `application/json`. Every operation is a method under its own name,"
    yield "and answers what it answers on `/v1`.\n"
    yield "```console"
    yield '$ curl -s --unix-socket "$HOME/.local/state/rookery/run/rookery.sock" http://rookery/rpc \\'
    yield "    -H 'Content-Type: application/json' \\"
    yield '    -d \'{"jsonrpc": "2.0", "id": 1, "method": "show", "params": {"session": "hello"}}\'\n```\n'
    yield "- **Parameters** are given by name, in snake_case or camelCase (`tail_chars` or `tailChars`); names within a value stay"
    yield "  as they are. Positional parameters are refused. A call has no members but `jsonrpc`, `method`, `params` and `id`."
    yield "- **Keys**: each method that changes something takes `idempotency_key` (or `idempotencyKey`). A repeated call under a"
    yield "  key is executed once and gets the same result, also if it is repeated on `/v1`. The header `Idempotency-Key` does the"
    yield "  same for a single call; with a batch it is refused."
    yield f"- **Batches** have at most {MAX_BATCH_CALLS} calls. They run one after the other, and the replies keep their order; a call that"
    yield "  fails does not affect the others. A call that waits delays those after it. If the client disconnects"
    yield f"  during a wait, the calls after it are not run. After {MAX_BATCH_REPLY_BYTES // 2**20} MB of replies, further calls are refused and not run."
    yield "- **Notifications** (calls without an `id`) are executed and get no reply. If a request has only notifications,"
    yield "  the status is 204, once they are executed. A notification of a method that only reads does nothing."
    yield "- **Status**: calls are answered with 200, errors included. Only a request that the guard refuses has another"
    yield "  status, and the error in the form of `/v1`: no valid token (401), another site (403, 421), another content"
    yield "  type (415), more than 8 MB (413), too many large requests at the same time (503)."
    yield "- Repeated keys in an object, NaN, infinite numbers and text that is not UTF-8 are parse errors.\n"
    yield "## Errors\n\nThe `data` of an error is the error of `/v1`: `{code, message}`, and `details` if there are any. Programs"
    yield "use `data.code`, such as `session-unknown`; the number is the same for similar errors.\n"
    yield "| code | meaning |\n|---|---|"
    for code, meaning in STANDARD_ERRORS.items():
        yield f"| {code} | {meaning} |"
    for code, meaning in SERVER_ERRORS.values():
        yield f"| {code} | {meaning} |"
    yield "\n## Methods for tools of Claude Code\n\nThey have the names and fields that such tools use already. Sessions of all agents are"
    yield "included. Times and durations are in milliseconds, costs in dollars; a cost that is not known is null. `display` is"
    yield "plain text, `result` the answer of the last turn that ended, and `claudeSessionId` the agent's own id, whatever agent"
    yield "it is. `launch` drives the session if the extra `sdk` is installed; otherwise it runs in a terminal, and the"
    yield "parameters that only a driven session has are refused by name.\n"
    for each in GATEWAY_METHODS:
        yield f"### {each.name}\n\n{each.summary} Needs: {each.need}.\n"
        if each.asks.model_fields:
            yield "| parameter | default | |\n|---|---|---|"
            yield from _parameters(each)
            yield ""
        yield f"Result: {_names(each.answers)}."
        if each.answers is SessionItems:
            yield f"Each session has {_names(SessionItem)}."
        yield ""
    yield "## Operations\n\nParameters without a default are in bold; `/v1/openapi.json` describes types and answers.\n"
    yield "| method | needs | parameters | |\n|---|---|---|---|"
    for each in OPERATION_METHODS.values():
        fields = each.asks.model_fields.items()
        names = ", ".join(
            f"**`{name}`**" if field.is_required() else f"`{name}`" for name, field in fields
        )
        yield f"| {each.name} | {each.need} | {names} | {each.summary} |"


def _names(answer: type[BaseModel]) -> str:
    names = (field.alias or name for name, field in answer.model_fields.items())
    return ", ".join(f"`{name}`" for name in names)


def _parameters(method: RpcMethod[Any]) -> Iterator[str]:
    for name, field in method.asks.model_fields.items():
        yield f"| `{to_camel(name)}` | {_default_text(field)} | {field.description or ''} |"


PAGES = {
    "commands.md": commands,
    "configuration.md": configuration,
    "http.md": api,
    "json-rpc.md": rpc,
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    stale = []
    for name, page in PAGES.items():
        text = "\n".join(page()) + "\n"
        file = FOLDER / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                file.write_text(text, encoding="utf-8")
    if stale:
        print("written:" if "--check" not in sys.argv else "stale, run make docs:", *stale)
    sys.exit(bool(stale and "--check" in sys.argv))


main()
