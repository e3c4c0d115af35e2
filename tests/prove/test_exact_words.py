"""Two thousand texts arrive byte for byte, twenty of them a megabyte long.

What Claude Code rewrites is acknowledged all the same: its prompts are compared with what was
sent, under the rewriting that its dialect declares.

`make prove` runs this; the figures are kept in docs/proofs.md.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from rookery.agents.shell import SHELL
from rookery.model.messages import same_words
from rookery.ports.agent import Agent
from tests.support.real.agent_cases import prompts
from tests.support.real.agents import configure
from tests.support.real.exact_words import AWKWARD, BOXED, ODD, kept, send_many
from tests.support.real.rookery import Rookery
from tests.support.scripted_model.server import ModelServer

pytestmark = pytest.mark.prove

SEED = int(os.environ.get("ROOKERY_SEED", "0")) or random.SystemRandom().randrange(10**6)


@pytest.mark.timeout(3_600)
@pytest.mark.spec("B2")
@pytest.mark.parametrize("dialect", [SHELL, BOXED], ids=["unboxed", "boxed"])
def test_two_thousand_texts_arrive_exactly_and_once(dialect: Agent, tmp_path: Path) -> None:
    print(f"\nseed {SEED}")  # noqa: T201 - to repeat it

    arrived = send_many(tmp_path, dialect, generated=1_980, sizes=[1_000_000] * 20, seed=SEED)

    print(f"{arrived} texts, each arrived once")  # noqa: T201 - figures for the docs
    assert arrived == 2_000


#: What Claude Code is known to rewrite, and neighbours for which it must not.
REWRITTEN = (
    *("\t", "  ", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u034f", "\U000e0041", "\u202e"),
    *(
        "\u200e",
        "\u2066",
        "\u2069",
        "\u061c",
        "e\u0301",
        "\u1112\u1161\u11ab",
        "\u212b",
        "\u2028",
    ),
    *(
        "\u3164",
        "\u200d",
        "\u200c",
        "\ufe0f",
        "👩\u200d👧",
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "\u0645\u06cc\u200c",
    ),
)


def generated(chance: random.Random) -> str:
    """Make a prompt that the scripted model answers, of pieces that programs give a meaning."""
    pieces = [*REWRITTEN, *AWKWARD, *ODD, "word", " and ", "x\n"]
    many = chance.randrange(1, 40) if chance.random() < 0.9 else chance.randrange(500, 3_000)
    text = "".join(chance.choice(pieces) for _ in range(many))
    return kept("say: ok " + text.replace(";;", ";"))


@pytest.mark.timeout(3_600)
@pytest.mark.spec("B2", "K3")
def test_whatever_claude_rewrites_is_acknowledged(tmp_path: Path) -> None:
    print(f"\nseed {SEED}")  # noqa: T201 - to repeat it
    chance = random.Random(SEED)  # noqa: S311 - repeatable
    sent = [generated(chance) for _ in range(200)]
    rookery = Rookery(tmp_path)
    with ModelServer() as models:
        configure(rookery, models.url)
        try:
            rookery.up()
            rookery.start("it", agent="claude")
            steps = []
            for words in sent:
                message = rookery.send("it", words)
                rookery.client.get("messages", str(message), "answer", timeout=120)
                steps.append(rookery.step(message)[0])
            found = prompts(rookery, "it")
        finally:
            rookery.clear_away()

    print(f"{len(found)} prompts, all acknowledged")  # noqa: T201 - figures for the docs
    assert steps == ["acknowledged"] * len(sent)
    assert [each for each in map(same_words, found, sent) if not each] == []
