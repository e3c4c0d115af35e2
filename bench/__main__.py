"""Run the benchmarks: ``python -m bench [NAMES…] [--quick] [--write]``."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from compileall import compile_dir
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from types import FrameType, ModuleType

from bench import (
    command,
    driven,
    hooks,
    idle,
    journal,
    load,
    output,
    startup,
    together,
    tui,
    words,
)
from bench.figures import Figure, markdown, table
from bench.sizes import FULL, QUICK, Sizes
from rookery import daemon

RESULTS = Path(__file__).with_name("results.md")

COLUMNS = """\
*Limit* is the fastest possible way: the bare tool, without checks and records. *Naive* is the
obvious way to do the same. *Times better* compares Rookery with naive.
"""

BENCHES: Mapping[str, ModuleType] = {
    "journal": journal,
    "output": output,
    "idle": idle,
    "startup": startup,
    "words": words,
    "command": command,
    "hooks": hooks,
    "together": together,
    "load": load,
    "tui": tui,
    "driven": driven,
}


def main() -> int:
    asked = _arguments()
    # Clean up after any signal; a shell may have started this program with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    sys.setswitchinterval(daemon.THREAD_SWITCH_SECONDS)  # as in the daemon
    # As pip does when it installs. With PYTHONDONTWRITEBYTECODE in the environment, every
    # process would compile a checkout again: 300 ms of each start of the daemon.
    compile_dir(Path(daemon.__file__).parent, quiet=1)
    sizes = QUICK if asked.quick else FULL
    try:
        found = {name: _run(name, sizes) for name in asked.names or BENCHES}
    except KeyboardInterrupt:
        print("\nStopped; nothing is left behind.")
        return 130
    if asked.write:
        RESULTS.write_text(_report(found, sizes), encoding="utf-8")
        print(f"\nWritten: bench/{RESULTS.name}")
    return _verdict(found, sizes)


def _verdict(found: Mapping[str, Sequence[Figure]], sizes: Sizes) -> int:
    """Print the missed goals and return the exit status; with --quick, speed is ignored."""
    missed = [
        f"{name}: {each.what.strip()}"
        for name, all_of in found.items()
        for each in all_of
        if each.is_missed
    ]
    broken = [
        f"{name}: could not be measured" for name, figures in found.items() if not figures
    ]
    for each in (*missed, *broken):
        print(f"MISSED  {each}")
    return 1 if broken or (missed and sizes is not QUICK) else 0


def _arguments() -> Namespace:
    parser = ArgumentParser("python -m bench", description="Run the benchmarks of Rookery.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to check that the benchmarks work"
    )
    parser.add_argument("--write", action="store_true", help=f"also write bench/{RESULTS.name}")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(BENCHES):
        parser.error(
            f"there is no {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}"
        )
    return asked


def _run(name: str, sizes: Sizes) -> list[Figure]:
    """Run one benchmark; print an error, and return no figures, if it fails."""
    print(f"\n{name}: {_sentence(name)}", flush=True)
    measure: Callable[[Sizes], list[Figure]] = BENCHES[name].measure
    began = monotonic()
    try:
        figures = measure(sizes)
    except Exception:  # noqa: BLE001 - the other benchmarks can still run
        traceback.print_exc()
        return []
    print(f"{table(figures)}\n  ({monotonic() - began:.0f} s)", flush=True)
    return figures


def _sentence(name: str) -> str:
    """Return the first paragraph of a benchmark's docstring."""
    return (BENCHES[name].__doc__ or "").split("\n\n")[0].replace("\n", " ").strip()


def _report(found: Mapping[str, Sequence[Figure]], sizes: Sizes) -> str:
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout
    machine = (
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {tmux.strip()},"
        f" {os.cpu_count()} cores"
    )
    hint = (
        "small sizes (--quick), which only show that the benchmarks work"
        if sizes is QUICK
        else "full sizes"
    )
    advice = "Compare figures within a table, not between machines."
    parts = [f"# Benchmarks\n\nBy `python -m bench`, {hint}: {machine}. {advice}\n", COLUMNS]
    for name, figures in found.items():
        about = (BENCHES[name].__doc__ or "").strip()
        parts.append(f"## {name}\n\n{about}\n\n{markdown(figures)}\n")
    return "\n".join(parts)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
