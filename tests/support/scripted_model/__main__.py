"""Runs the scripted models by hand: ``python -m tests.support.scripted_model --port 8484``."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser

from tests.support.scripted_model.exchange import GATE
from tests.support.scripted_model.server import ModelServer

_ENDS = {signal.SIGINT, signal.SIGTERM}


def main() -> None:
    parser = ArgumentParser("python -m tests.support.scripted_model")
    parser.add_argument("--port", type=int, default=8484, metavar="N")
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    with ModelServer(parser.parse_args().port) as server:
        sys.stdout.write(f"Listening on {server.url}; POST {GATE}NAME opens a gate.\n")
        sys.stdout.flush()
        signal.sigwait(_ENDS)


if __name__ == "__main__":
    main()
