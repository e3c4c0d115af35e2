from __future__ import annotations

import pytest

from rookery.model.actors import LISTENERS, PERSON, Actor, ActorKind
from rookery.model.facts import SessionId
from rookery.model.messages import MessageKind, Origin


@pytest.mark.parametrize(
    ("text", "actor"),
    [
        ("person", PERSON),
        ("session 0f8a", Actor.of_session(SessionId("0f8a"))),
        ("listeners", LISTENERS),
        ("relay r1", Actor(ActorKind.RELAY, "r1")),
        ("relays r1", Actor(ActorKind.RELAY_NEWS, "r1")),
        ("the rule no-rm", Actor(ActorKind.OTHER, "the rule no-rm")),
    ],
)
def test_an_actor_is_read_as_it_was_written(text: str, actor: Actor) -> None:
    assert Actor.read(text) == actor
    assert str(actor) == text


@pytest.mark.parametrize(
    ("author", "kind"),
    [
        ("person", MessageKind.PERSON),
        ("session 0f8a", MessageKind.SESSION),
        ("relay r1", MessageKind.RELAY),
        ("relays r1", MessageKind.NEWS),
        ("listeners", MessageKind.NEWS),
        ("idle", MessageKind.PERSON),
    ],
)
def test_a_message_is_of_the_kind_of_its_author(author: str, kind: MessageKind) -> None:
    assert Origin(Actor.read(author), cause=1).kind is kind
