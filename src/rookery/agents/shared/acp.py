"""What the ACP dialects of several agents have in common. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.drivers.acp.options import AcpOptions, Service, as_json
from rookery.drivers.acp.tools import FileDiff
from rookery.model.autonomy import Autonomy
from rookery.model.errors import BadInput
from rookery.ports.agent import CommandLine, DriverLine, LaunchSpec

#: The name of the driver, and of the runtime.
ACP = "acp"


def options_of(spec: LaunchSpec, **more: Any) -> AcpOptions:  # noqa: ANN401 - fields of the class
    """Return the options that follow from a launch in the same way for all agents."""
    usual = {
        "resumes": str(spec.native_id) if spec.resumes else "",
        "forks": str(spec.forks or ""),
        "tools": spec.tools,
        "badge": spec.badge if spec.tools else "",
        "unasked": spec.allowed_tools,
        "earlier_cost": spec.earlier_cost,
    }
    return AcpOptions(**{**usual, **more})


def driver_line(
    argv: Sequence[str], options: AcpOptions, environment: Mapping[str, str] | None = None
) -> DriverLine:
    return DriverLine(ACP, CommandLine(tuple(argv), {}, environment or {}), as_json(options))


def services_in(autonomy: Autonomy) -> tuple[Service, ...]:
    """Return the services that Rookery offers to an agent.

    These are reading files, and what the agent would ask about in this mode. What the agent
    may do unasked it does itself, because Rookery would ask.
    """
    if autonomy is Autonomy.READ or autonomy >= Autonomy.RUN:
        return ("read",)
    if autonomy is Autonomy.EDIT:
        return ("read", "terminal")
    return ("read", "write", "terminal")


def refuse_system_prompt(spec: LaunchSpec, agent: str) -> None:
    if spec.system_prompt:
        raise BadInput(f"{agent} takes no system prompt over ACP.")


def mode_id(modes: Mapping[str, str], mode: str, agent: str) -> str:
    """Return the agent's own name of a mode over ACP. Raises ``BadInput``."""
    if mode and mode not in modes:
        raise BadInput(
            f"{agent} has no permission mode {mode!r} over ACP, only {', '.join(modes)}."
        )
    return modes.get(mode, "")


def as_patch(diffs: Sequence[FileDiff]) -> str:
    """Write changes in the format of ``apply_patch``: whole files, old and new."""
    lines = ["*** Begin Patch"]
    for diff in diffs:
        if diff.old is None:
            lines.append(f"*** Add File: {diff.path}")
        else:
            lines += [f"*** Update File: {diff.path}", "@@"]
            lines += [f"-{line}" for line in diff.old.splitlines()]
        lines += [f"+{line}" for line in diff.new.splitlines()]
    return "\n".join([*lines, "*** End Patch"])
