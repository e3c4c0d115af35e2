"""How Claude Code is started without a terminal, to be driven through the Claude Agent SDK."""

from __future__ import annotations

from dataclasses import replace

from rookery.agents.claude import hooks
from rookery.model.money import in_dollars
from rookery.ports.agent import CommandLine, DriverLine, LaunchSpec

#: The name of the runtime and of its driver.
SDK = "sdk"

#: All hooks but that for permissions: Claude Code asks by this hook and through its protocol at
#: the same time. Only the protocol is used, so that a person is asked once.
EVENTS = tuple(each for each in hooks.EVENTS if each != hooks.HOOKS.traits.permission)

#: Options for lines of JSON in both directions, including the requests for permissions.
STREAM = (
    *("--output-format", "stream-json", "--verbose"),
    *("--input-format", "stream-json"),
    *("--permission-prompt-tool", "stdio"),
)

#: Variables that make Claude Code report when it is idle: a turn is not over while subagents
#: run in the background.
ENVIRONMENT = {
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
}

#: Options for a folder that the user has not trusted: without a terminal, Claude Code does not
#: ask whether to trust it and would run the hooks and MCP servers that the project defines.
UNTRUSTED = ("--setting-sources=user", "--strict-mcp-config")


def driver_line(spec: LaunchSpec, line: CommandLine) -> DriverLine:
    """Return how the driver starts it; ``line`` starts the same conversation in a terminal."""
    argv = [*line.argv, *STREAM]
    # Option and value are one word: alone, a value that begins with a dash would be an option.
    if spec.system_prompt:
        argv.append(f"--append-system-prompt={spec.system_prompt}")
    if spec.allowed_tools:
        argv.append(f"--allowedTools={','.join(spec.allowed_tools)}")
    if spec.budget is not None:
        argv.append(f"--max-budget-usd={in_dollars(spec.budget)}")
    options = {
        "native_id": spec.native_id,
        "model": spec.model,
        "earlier_cost": spec.earlier_cost,
        "untrusted": UNTRUSTED,
    }
    line = replace(line, argv=tuple(argv), environment={**line.environment, **ENVIRONMENT})
    return DriverLine(SDK, line, options)
