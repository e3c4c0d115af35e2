"""Resolve the path fields of a tool call without blocking the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import BoundedSemaphore, Thread
from typing import TypeAlias, TypeVar
from urllib.parse import unquote

from rookery.model.folders import absolute_path, named_folders, paths_in
from rookery.model.permissions import FOLDER, Call
from rookery.processes.real_paths import real_path

T = TypeVar("T")

#: For each field of a call, the files that its path may name.
_Meanings: TypeAlias = dict[str, frozenset[str]]

#: The characters that JavaScript's ``trim`` removes from both ends; Python's ``strip`` differs.
_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

#: A path on a dead mount blocks its thread forever; then the call counts as uncertain.
RESOLVE_TIMEOUT_S = 0.5

#: Limit of threads that hang on dead mounts; beyond it calls count as uncertain at once.
MAX_THREADS = 4


@dataclass(frozen=True, slots=True)
class PathResolver:
    """Resolves links in its own threads, which may hang and do not keep the daemon alive."""

    timeout_s: float = RESOLVE_TIMEOUT_S
    real_path: Callable[[str], str] = real_path
    _threads: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_THREADS))

    async def resolve(self, call: Call, *, folder: str, fields: Iterable[str]) -> Call:
        """Return the call with the real paths of these fields, relative to a folder."""
        arguments = {name: paths_in(call.input.get(name)) for name in fields}
        paths = {name: named for name, named in arguments.items() if named}
        if not paths:
            return call
        # Agents differ in expanding a tilde: no allow rule may match by such a path.
        unsure = {name for name, named in paths.items() if any(map(_begins_with_tilde, named))}
        resolved = await self._in_thread(paths, folder or "/")
        unsure.update(paths.keys() - resolved.keys())
        return replace(call, real_paths=resolved, uncertain=call.uncertain | unsure)

    async def resolve_folders(self, call: Call, *, folder: str) -> Call:
        """Return the call with the real folders that it may work in."""
        folders = named_folders(call.input) or {FOLDER: folder}
        named = {name: [path] for name, path in folders.items()}
        resolved = await self._in_thread(named, folder or "/")
        unsure = {name for name, path in folders.items() if _begins_with_tilde(path)}
        if unsure or folders.keys() != resolved.keys():
            return replace(call, uncertain=call.uncertain | {FOLDER})
        return replace(call, real_folders=frozenset().union(*resolved.values()))

    async def _in_thread(self, paths: Mapping[str, Sequence[str]], folder: str) -> _Meanings:
        resolved = await in_daemon_thread(
            lambda: dict(self._resolve_all(paths, folder)),
            threads=self._threads,
            timeout_s=self.timeout_s,
        )
        return resolved or {}

    def _resolve_all(
        self, paths: Mapping[str, Sequence[str]], folder: str
    ) -> Iterable[tuple[str, frozenset[str]]]:
        for name, named in paths.items():
            with suppress(OSError, ValueError):  # a NUL, or too many links
                meanings = (file for path in named for file in self._meanings(folder, path))
                yield name, frozenset(meanings)

    def _meanings(self, folder: str, path: str) -> Iterable[str]:
        """Yield each file that the path may name, relative to a folder."""
        # Claude Code 2.1.325 removes blanks around the path of Grep and Glob.
        stripped = path.strip(_BLANKS)
        for form in {path, stripped, *_rewritten(path), *_rewritten(stripped)}:
            yield from self._files(folder, form)

    def _files(self, folder: str, path: str) -> Iterable[str]:
        if path.startswith("~/"):
            path = os.path.expanduser(path)  # noqa: PTH111 - pathlib raises without a home
        whole = os.path.join(folder, path)  # noqa: PTH118 - pathlib removes "." and "//"
        yield self.real_path(whole)
        if ".." in whole.split("/"):
            # OpenCode removes ".." textually, so the part before it need not exist.
            yield self.real_path(absolute_path(path, folder))
            yield self.real_path(absolute_path(path, self.real_path(folder)))


def _begins_with_tilde(path: str) -> bool:
    return path.lstrip(_BLANKS).startswith("~")


def _rewritten(path: str) -> Iterable[str]:
    """Yield the paths that an agent may use instead: some correct what a model writes."""
    # Gemini CLI 0.61 removes a leading "@" and decodes "%73" and file URLs.
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    if path.startswith("@"):
        yield (path := path[1:].lstrip("/\\"))
    yield unquote(path)


async def in_daemon_thread(
    work: Callable[[], T], *, threads: BoundedSemaphore, timeout_s: float
) -> T | None:
    """Run work that may hang for ever; ``None`` if it takes too long, or too much hangs."""
    if not threads.acquire(blocking=False):
        return None
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        finally:
            threads.release()
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(_answer, answer, result)

    Thread(target=run, name="real paths", daemon=True).start()
    try:
        return await asyncio.wait_for(answer, timeout_s)
    except TimeoutError:
        return None


def _answer(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)
