"""The HTTP interface is as its description says: schemathesis tries all of it.

It generates valid and invalid requests for every operation, and checks status codes, headers
and shapes of the answers. ``schemathesis.toml`` says what is left out, and why.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.real.http import port_of
from tests.support.real.rookery import Rookery

pytestmark = [pytest.mark.prove, pytest.mark.timeout(600)]

SEED = int(os.environ.get("ROOKERY_SEED", "0")) or random.SystemRandom().randrange(10**6)

CONFIGURATION = ROOT / "tests" / "support" / "prove" / "schemathesis.toml"


@pytest.fixture
def rookery(tmp_path: Path) -> Iterator[Rookery]:
    """Give a daemon with a session that has answered."""
    rookery = Rookery(tmp_path)
    rookery.up()
    rookery.start("shown")
    rookery.ask("shown", "say: hello")
    yield rookery
    rookery.clear_away()


@pytest.mark.spec("I1", "K4")
@pytest.mark.parametrize("session", ["shown", "nobody"])
def test_the_interface_is_as_its_description_says(
    rookery: Rookery, tmp_path: Path, session: str
) -> None:
    url = f"http://127.0.0.1:{port_of(rookery)}/v1/openapi.json"
    program = str(Path(sys.executable).with_name("schemathesis"))
    options = ["run", url, "--seed", str(SEED), "--no-color"]
    print(f"seed {SEED}")  # noqa: T201 - to repeat it

    run = subprocess.run(
        [program, "--config-file", str(CONFIGURATION), *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={
            **os.environ,
            "ROOKERY_TOKEN": rookery.home.token.read_text(),
            "ROOKERY_SHOWN_SESSION": session,
        },
    )

    assert run.returncode == 0, run.stdout[-20_000:]
    assert rookery.client.get("status")["trouble"] == ""
