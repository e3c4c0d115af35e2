"""tmux expands ``#`` in the arguments of some commands, such as the path of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rookery.model.facts import SessionId
from rookery.model.screens import Press
from tests.support.contract.runtimes import seen, started
from tests.support.contract.tmux import holding, site_in

pytestmark = [pytest.mark.real, pytest.mark.anyio, pytest.mark.spec("B0", "B2")]

ONE = SessionId("11111111-one")


async def test_text_is_typed_into_a_dialog_from_a_home_with_a_number_sign(
    tmp_path: Path,
) -> None:
    home = tmp_path / "C#Projects"
    home.mkdir()
    with site_in(home) as site:
        async with holding(site) as runtime:
            await started(runtime, ONE, tmp_path)

            await runtime.terminal(ONE).press_in_dialog(Press(words="hello"), receipt="r")

            await seen(runtime, ONE, lambda view: view.box == "hello")
