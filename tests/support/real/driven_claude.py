"""The real Claude Code without a terminal, offline: how tests start it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from rookery.agents.claude.agent import CLAUDE
from rookery.drivers.commands import Start
from rookery.model.sessions import NativeId
from rookery.ports.agent import LaunchSpec
from tests.support.paths import PROGRAMS
from tests.support.real import asking_server
from tests.support.real.agents import KEY, seed_claude


def add_asking_server(folder: Path) -> None:
    """Configure the MCP server of ``asking_server`` in a configuration of Claude Code."""
    file = folder / ".claude.json"
    server = {"command": sys.executable, "args": ["-I", asking_server.__file__]}
    known = json.loads(file.read_text())
    file.write_text(json.dumps({**known, "mcpServers": {"asking": server}}))


@dataclass
class ClaudeHome:
    """A private home of Claude Code, whose models are scripted."""

    folder: Path
    models: str
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project.mkdir(parents=True)
        seed_claude(self.folder / "claude", self.project)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "CLAUDE_CONFIG_DIR": str(self.folder / "claude"),
            "ANTHROPIC_BASE_URL": self.models,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
            **self.environment,
        }

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def distrust(self) -> None:
        """Take back that the project's folder is accepted."""
        file = self.folder / "claude" / ".claude.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "projects": {}}))

    def add_asking_server(self) -> None:
        """Give the user an MCP server with a tool that asks them for a name."""
        add_asking_server(self.folder / "claude")

    def define_in_project(self) -> tuple[Path, Path]:
        """Let the project define a hook and an MCP server; return the files that they make."""
        by_hook, by_server = self.folder / "by-hook", self.folder / "by-server"
        hook = {"type": "command", "command": f"touch {by_hook}"}
        settings = {"hooks": {"SessionStart": [{"hooks": [hook]}]}}
        server = {"command": "touch", "args": [str(by_server)]}
        (self.project / ".claude").mkdir()
        (self.project / ".claude" / "settings.json").write_text(json.dumps(settings))
        (self.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"it": server}}))
        return by_hook, by_server

    def write_hook(self, text: str) -> Path:
        path = self.folder / "hook.py"
        path.write_text(text)
        return path

    def spec(self, **more: Any) -> LaunchSpec:  # noqa: ANN401 - any field of it
        spec = LaunchSpec(
            command=(str(PROGRAMS / "claude"),),
            native_id=NativeId(str(uuid4())),
            model="",
            permission_mode="",
            hook="true",
            folder=self.folder,
        )
        return replace(spec, **more)

    def start(
        self,
        spec: LaunchSpec | None = None,
        *,
        is_single_turn: bool = False,
        budget: int | None = None,
    ) -> Start:
        """Write the files of a launch, and return its command for the driver host."""
        made = CLAUDE.driven["sdk"](spec or self.spec())
        for path, text in made.line.files.items():
            path.write_text(text)
        return Start(
            session=str(uuid4()),
            driver=made.driver,
            argv=made.line.argv,
            environment={**self.environment, **made.line.environment},
            folder=str(self.project),
            options=made.options,
            is_single_turn=is_single_turn,
            budget=budget,
        )
