from __future__ import annotations

import pytest

from rookery.model.code_blocks import code_blocks

pytestmark = pytest.mark.spec("I5")


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("no code, `a` and ```b``` in a line", []),
        ("Do:\n```sh\nls\n\npwd\n```\nand\n~~~\nx\n~~~\n", ["ls\n\npwd", "x"]),
        ("````md\n```\ninner\n```\n````", ["```\ninner\n```"]),
        ("1. Do\n   ```\n   a\n     b\n  c\n   ```", ["a\n  b\nc"]),
        ("```\nopen\nto the end", ["open\nto the end"]),
        ("```\n~~~\n```", ["~~~"]),
        ("```\n```", [""]),
    ],
)
def test_fenced_blocks_are_found(text: str, blocks: list[str]) -> None:
    assert code_blocks(text) == blocks
