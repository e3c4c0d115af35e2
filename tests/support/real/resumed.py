"""Conversations that are resumed."""

from __future__ import annotations

from tests.support.real.rookery import Rookery

#: It finds the words in what was said before, and not in the question itself.
SECRET, KNOWN = "the word is heron", "saw: word is he[r]on"


def last_answer(rookery: Rookery, name: str) -> str:
    answer: str = rookery.client.get("sessions", name, "turns")["turns"][-1]["answer"]
    return answer
