"""A bare loop of the Claude Agent SDK: many sessions in one process that only count blocks.

Run as ``python -m bench.bare_sdk PROGRAM SESSIONS PROMPT``. It prints the seconds from the
first prompt to the last answer, the CPU seconds of this process in that time, and the bytes of
memory that each session has added to it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from time import monotonic, process_time
from typing import Any
from uuid import uuid4

import psutil
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient


async def main(program: str, sessions: int, prompt: str) -> None:
    before = _memory()
    clients = [ClaudeSDKClient(ClaudeAgentOptions(cli_path=program)) for _ in range(sessions)]
    await asyncio.gather(*(each.connect() for each in clients))
    began, worked = monotonic(), process_time()
    await asyncio.gather(*(_play(each, prompt) for each in clients))
    seconds, spent = monotonic() - began, process_time() - worked
    print(seconds, spent, (_memory() - before) / sessions)
    for each in clients:
        await each.disconnect()


async def _play(client: ClaudeSDKClient, prompt: str) -> None:
    await client.query(_messages(prompt))
    async for _ in client.receive_response():
        pass


async def _messages(prompt: str) -> AsyncIterator[dict[str, Any]]:
    content = {"role": "user", "content": prompt}
    yield {"type": "user", "uuid": str(uuid4()), "message": content}


def _memory() -> int:
    return int(psutil.Process().memory_full_info().uss)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
