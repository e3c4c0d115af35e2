"""Metrics as Prometheus reads them: on loopback, with a token of its own."""

from __future__ import annotations

import http.client
from contextlib import closing

import pytest

from tests.support.real.http import badge_of, bearer, port_of
from tests.support.real.rookery import SOON, Rookery

pytestmark = pytest.mark.real


def scraped(rookery: Rookery, token: str) -> tuple[int, str]:
    door = http.client.HTTPConnection("127.0.0.1", port_of(rookery), timeout=SOON)
    with closing(door):
        door.request("GET", "/metrics", headers={"Authorization": token} if token else {})
        answer = door.getresponse()
        return answer.status, answer.read().decode()


@pytest.mark.spec("A11", "K1", "K5")
def test_a_reader_token_is_enough_and_needed(cold: Rookery) -> None:
    cold.configure("[metrics]\nenabled = true\n")
    cold.up()
    cold.start("secret-name", prompt="permission: Bash rm -rf build;; say: Gone.")
    cold.run("wait", "secret-name", "--on-permission", "fail")
    cold.run("allow", "secret-name")
    cold.run("wait", "secret-name")
    reader = cold.run("token", "mint", "--scope", "reader").stdout.strip()

    status, text = scraped(cold, f"Bearer {reader}")

    assert status == 200
    assert 'rookery_requests_asked_total{kind="permission"} 1.0' in text
    assert 'rookery_requests_answered_total{decision="allow"} 1.0' in text
    assert 'rookery_turns_total{agent="demo"} 1.0' in text
    assert "secret-name" not in text
    assert str(cold.project) not in text
    assert scraped(cold, "")[0] == 401
    assert scraped(cold, f"Bearer {badge_of(cold, 'secret-name')}")[0] == 403
    assert "/metrics, with a token" in cold.run("doctor").stdout


@pytest.mark.spec("A11", "K3")
def test_counters_go_on_after_a_kill(cold: Rookery) -> None:
    cold.configure("[metrics]\nenabled = true\n")
    cold.up()
    cold.start("it")
    cold.ask("it", "tool: Bash ls;; say: one")

    cold.kill()
    cold.up()
    cold.ask("it", "say: two")

    _, text = scraped(cold, bearer(cold))
    assert 'rookery_turns_total{agent="demo"} 2.0' in text
    assert 'rookery_sessions_created_total{agent="demo",origin="launched"} 1.0' in text
    assert "rookery_tool_calls_total 1.0" in text


def test_by_default_there_are_no_metrics(served: Rookery) -> None:
    assert scraped(served, bearer(served))[0] == 404
