"""The doors: who may pass, what they may do, and what they are told."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from rookery.api.streams import STREAMS
from rookery.model.errors import Answered
from rookery.operations.catalog import OPERATIONS
from tests.support.real.http import badge_of, bearer, command_lines_with, port_of, request
from tests.support.real.rookery import SOON, Rookery, eventually

pytestmark = pytest.mark.real

#: What stands in a path.
WHICH = {"session": "shown", "message": "1", "token": "x", "permission": "x", "relay": "x"}

#: What somebody might try who has none.
TOKENS: list[dict[str, Any]] = [
    {},
    {"Authorization": "Bearer x"},
    {"Authorization": "Basic eDp4"},
]


@contextmanager
def following(
    rookery: Rookery, *path: str, after: int | None = None
) -> Iterator[Iterator[tuple[str, Any]]]:
    """Follow a stream of events on the socket, as pairs of its name and its JSON."""
    query = {} if after is None else {"after": after}
    lines = rookery.client.lines(*path, **query)

    def pairs() -> Iterator[tuple[str, Any]]:
        name = ""
        for line in lines:
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                yield name, json.loads(value)

    yield pairs()
    lines.close()  # type: ignore[attr-defined]


@pytest.mark.spec("K1")
def test_without_a_token_loopback_answers_nothing(rookery: Rookery) -> None:
    rookery.start("shown")
    every = {(each.method, each.path) for each in OPERATIONS}
    every |= {("GET", each.path) for each in STREAMS}
    every |= {("GET", "/v1/openapi.json"), ("GET", "/nowhere")}
    every |= {("POST", "/mcp"), ("GET", "/mcp"), ("POST", "/rpc")}

    for method, path in sorted(every):
        for token in TOKENS:
            where = path.format(**WHICH)
            body = b"{}" if method == "POST" else None
            status, answer = request(
                rookery, method, where, body=body, Content_Type="application/json", **token
            )

            assert status == 401, (method, path)
            assert answer["error"]["code"] == "unauthorized"

    assert request(rookery, "GET", "/healthz") == (200, {"ok": True})


@pytest.mark.spec("I1")
def test_a_path_that_leads_nowhere_is_not_found(rookery: Rookery) -> None:
    status, answer = request(rookery, "GET", "/v1/nowhere", Authorization=bearer(rookery))

    assert (status, answer["error"]["code"]) == (404, "not-found")


@pytest.mark.spec("K1")
def test_no_page_of_another_site_gets_in(rookery: Rookery) -> None:
    port, token = port_of(rookery), bearer(rookery)
    own = f"127.0.0.1:{port}"
    json_type: dict[str, Any] = {"Content_Type": "application/json", "Authorization": token}

    rebound = request(rookery, "GET", "/v1/status", Authorization=token, Host="evil.test")
    foreign = request(
        rookery, "GET", "/v1/status", Authorization=token, Origin="http://evil.test"
    )
    null = request(rookery, "GET", "/v1/status", Authorization=token, Origin="null")
    form = request(
        rookery, "POST", "/v1/stop", body=b"x=1", Authorization=token, Content_Type="text/plain"
    )
    right = request(rookery, "GET", "/v1/status", Host=own, Origin=f"http://{own}", **json_type)

    assert [each[0] for each in (rebound, foreign, null, form)] == [421, 403, 403, 415]
    assert right[0] == 200


@pytest.mark.spec("I4", "K1")
def test_a_websocket_opens_for_the_right_origin_with_the_right_token_only(
    rookery: Rookery,
) -> None:
    port, token = port_of(rookery), bearer(rookery)
    own = f"http://127.0.0.1:{port}"
    combinations = itertools.product(
        [None, "http://evil.test", "null", own], [None, "Bearer bad", token]
    )

    opened = [each for each in combinations if _opens(port, *each)]

    assert opened == [(None, token), (own, token)]


def _opens(port: int, origin: str | None, token: str | None) -> bool:
    headers = {"Authorization": token} if token else {}
    shown = Origin(origin) if origin else None
    try:
        with connect(
            f"ws://127.0.0.1:{port}/v1/events", origin=shown, additional_headers=headers
        ) as socket:
            return "sessions" in json.loads(socket.recv(timeout=SOON))
    except InvalidStatus:
        return False


@pytest.mark.spec("K1")
def test_only_loopback_is_listened_on(rookery: Rookery) -> None:
    listening = subprocess.run(
        ["ss", "-ltnpH"], capture_output=True, text=True, check=True
    ).stdout.splitlines()

    ours = [line.split()[3] for line in listening if f"pid={rookery.pid}," in line]

    assert ours == [f"127.0.0.1:{port_of(rookery)}"]


@pytest.mark.spec("K1")
def test_a_command_line_is_for_the_owner_on_the_socket_only(rookery: Rookery) -> None:
    start = {"agent": "shell", "project": str(rookery.project), "command": ["touch", "pwned"]}
    with_environment = {
        "agent": "demo",
        "project": str(rookery.project),
        "environment": {"PATH": "/evil"},
    }

    for body in (start, with_environment):
        status, answer = request(
            rookery,
            "POST",
            "/v1/sessions",
            body=json.dumps(body).encode(),
            Content_Type="application/json",
            Authorization=bearer(rookery),
        )

        assert status == 403
        assert answer["error"]["code"] == "forbidden"
    assert not (rookery.project / "pwned").exists()


@pytest.mark.spec("K5")
def test_a_reader_reads_and_nothing_else(rookery: Rookery) -> None:
    rookery.start("shown")
    token = rookery.json("token", "mint", "--scope", "reader")["secret"]
    headers: dict[str, Any] = {"Authorization": f"Bearer {token}"}
    headers["Content_Type"] = "application/json"

    seen = request(rookery, "GET", "/v1/sessions/shown", **headers)
    refused = [
        request(
            rookery,
            each.method,
            each.path.format(**WHICH),
            body=b"{}" if each.method == "POST" else None,
            **headers,
        )[0]
        for each in OPERATIONS
        if each.need != "read"
    ]

    assert seen[0] == 200
    assert set(refused) <= {400, 403}
    assert rookery.session("shown")["status"] == "running"


@pytest.mark.spec("K5")
def test_a_session_reaches_its_family_and_ends_its_descendants_only(rookery: Rookery) -> None:
    rookery.start("root")
    rookery.start("stranger")
    root = rookery.client_of(badge_of(rookery, "root"))
    project = str(rookery.project)

    child = root.post("sessions", agent="demo", name="child", project=project)
    rookery.client.get("sessions", "child", "wait", until="up", timeout=SOON)
    below = rookery.client_of(badge_of(rookery, "child"))
    below.post("sessions", agent="demo", name="grandchild", project=project)
    listed = [each["name"] for each in below.get("sessions")["sessions"]]
    below.post("sessions", "root", "messages", words="say: from below")
    ended = root.post("sessions", "grandchild", "end")

    assert child["parent"] == rookery.session("root")["id"]
    assert listed == ["root", "child", "grandchild"]
    assert ended["status"] in {"closing", "killed"}
    attempts: list[Callable[[], object]] = [
        lambda: below.get("sessions", "stranger"),
        lambda: below.get("sessions", "stranger", "turns"),
        lambda: below.post("sessions", "stranger", "messages", words="hello"),
        lambda: below.post("sessions", "root", "end"),
        lambda: below.post("sessions", "child", "end"),
        lambda: below.post("sessions", "grandchild", "keys", keys=["1"]),
        lambda: below.post("sessions", "end"),
        lambda: below.post("stop"),
        lambda: below.post("tokens", scope="owner"),
        lambda: below.post("backup", file=str(rookery.folder / "stolen.db")),
        lambda: below.post("sessions", agent="shell", project=project, command=["id"]),
        lambda: below.post(
            "sessions", agent="demo", project=project, permission_mode="bypassPermissions"
        ),
    ]
    for attempt in attempts:
        with pytest.raises(Answered) as refused:
            attempt()
        assert refused.value.code == "forbidden"


@pytest.mark.spec("K5")
def test_families_grow_three_deep_and_no_deeper(rookery: Rookery) -> None:
    rookery.start("g0")
    for generation in range(1, 4):
        parent = rookery.client_of(badge_of(rookery, f"g{generation - 1}"))
        parent.post(
            "sessions", agent="demo", name=f"g{generation}", project=str(rookery.project)
        )
        rookery.client.get("sessions", f"g{generation}", "wait", until="up", timeout=SOON)

    deepest = rookery.client_of(badge_of(rookery, "g3"))
    with pytest.raises(Answered) as refused:
        deepest.post("sessions", agent="demo", project=str(rookery.project))

    assert refused.value.code == "limit-reached"


@pytest.mark.spec("K5")
def test_sessions_may_be_trusted_with_all(cold: Rookery) -> None:
    cold.configure('[trust]\nsessions = "all"\n')
    cold.up()
    cold.start("one")
    cold.start("other")

    one = cold.client_of(badge_of(cold, "one"))

    assert one.get("sessions", "other")["name"] == "other"
    with pytest.raises(Answered):
        one.post("sessions", "other", "end")


@pytest.mark.spec("K5")
def test_a_process_of_a_session_is_that_session_though_it_shows_no_badge(
    rookery: Rookery,
) -> None:
    rookery.start("stranger")
    program = f"env -u ROOKERY_BADGE {sys.executable} -m rookery"
    script = rookery.project / "try.sh"
    script.write_text(
        f"export ROOKERY_HOME='{rookery.home.state}'\n{program} end stranger > said 2>&1\n"
        f"{program} ls --json > listed\necho done > finished\nsleep 60\n"
    )

    rookery.start("inside", agent="shell", command=["sh", str(script)])
    eventually((rookery.project / "finished").exists)

    assert "is not in the caller's family" in (rookery.project / "said").read_text()
    listed = json.loads((rookery.project / "listed").read_text())["sessions"]
    assert [each["name"] for each in listed] == ["inside"]


@pytest.mark.spec("K5")
def test_a_badge_is_void_once_its_session_is_over(rookery: Rookery) -> None:
    rookery.start("gone")
    badge = badge_of(rookery, "gone")
    rookery.run("end", "gone")

    with pytest.raises(Answered) as refused:
        rookery.client_of(badge).get("sessions")

    assert refused.value.code == "unauthorized"


@pytest.mark.spec("K5", "I4")
def test_taking_a_token_back_ends_its_streams_at_once(rookery: Rookery) -> None:
    made = rookery.json("token", "mint")
    headers: dict[str, Any] = {"Authorization": f"Bearer {made['secret']}"}
    url = f"ws://127.0.0.1:{port_of(rookery)}/v1/events"
    with connect(url, additional_headers=headers) as socket:
        socket.recv(timeout=SOON)

        rookery.run("token", "revoke", made["token"]["id"])
        with pytest.raises(Exception, match=r"1008|closed|close frame"):
            socket.recv(timeout=1.0)

    status, _ = request(rookery, "GET", "/v1/sessions", **headers)
    assert status == 401


def up_to_its_end(
    events: Iterator[tuple[str, dict[str, Any]]],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give what is told until a turn has ended."""
    for kind, event in events:
        yield kind, event
        if kind == "turn-ended":
            return


def without_delays(told: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Name what was told; on a busy machine, words may have to wait for a box to be drawn."""
    return [kind for kind, _ in told if kind != "delivery-waited"]


@pytest.mark.spec("I4")
def test_events_begin_with_a_snapshot_and_have_no_gap(rookery: Rookery) -> None:
    rookery.start("actor")
    with following(rookery, "events") as events:
        name, snapshot = next(events)
        rookery.ask("actor", "say: one")
        told = list(up_to_its_end(events))

    assert name == "snapshot"
    assert [each["name"] for each in snapshot["sessions"]] == ["actor"]
    assert without_delays(told) == ["message-written", "turn-started", "turn-ended"]
    seqs = [event["seq"] for _, event in told]
    assert seqs == [snapshot["seq"] + number for number in range(1, len(told) + 1)]


@pytest.mark.spec("I4")
def test_who_comes_back_goes_on_where_they_stopped(rookery: Rookery) -> None:
    rookery.start("actor")
    with following(rookery, "events") as events:
        _, snapshot = next(events)
    rookery.ask("actor", "say: missed")

    with following(rookery, "events", after=snapshot["seq"]) as events:
        told = list(up_to_its_end(events))

    assert without_delays(told) == ["message-written", "turn-started", "turn-ended"]


@pytest.mark.spec("I4")
def test_who_was_away_too_long_gets_a_snapshot_again(rookery: Rookery) -> None:
    rookery.start("actor")
    rookery.ask("actor", "say: old")
    rookery.run("prune", "--days", "0")

    with following(rookery, "events", after=1) as events:
        name, snapshot = next(events)

    assert name == "snapshot"
    assert snapshot["seq"] >= 4


@pytest.mark.spec("I4", "B3")
def test_a_screen_is_followed_as_it_changes(rookery: Rookery) -> None:
    rookery.start("actor")
    with following(rookery, "sessions", "actor", "frames") as frames:
        first = next(frames)
        rookery.send("actor", "say: now you see me")
        seen = next(
            lines
            for _, frame in frames
            for lines in ["\n".join(frame["lines"])]
            if "● now you see me" in lines
        )

    assert first[0] == "screen"
    assert "now you see me" in seen


#: Signs of life, 15 s apart, after which a stream is taken to last for ever.
MAX_PINGS = 4


def told_until_its_end(lines: Iterator[str]) -> list[str]:
    """Read a stream to its end; fail if it does not come to one."""
    told: list[str] = []
    for line in lines:
        told.append(line)
        assert sum(each.startswith(": ping") for each in told) < MAX_PINGS
    return told


@pytest.mark.spec("F1", "K5", "I4")
def test_a_screen_is_shown_to_a_relay_peer_only_while_the_relay_is_open(
    rookery: Rookery,
) -> None:
    for name in ("anna", "bert"):
        rookery.start(name)
    relay = rookery.json("relay", "anna", "bert")["id"]
    anna = rookery.client_of(badge_of(rookery, "anna"))
    peer, own = (anna.lines("sessions", each, "frames") for each in ("bert", "anna"))
    next(each for each in peer if each.startswith("data:"))
    next(each for each in own if each.startswith("data:"))

    rookery.run("relay", "close", relay)
    rookery.ask("bert", "say: not for anna")
    of_peer = told_until_its_end(peer)
    rookery.run("end", "anna")
    told_until_its_end(own)

    assert not [each for each in of_peer if "not for anna" in each]


@pytest.mark.spec("I1")
def test_the_api_describes_itself(rookery: Rookery) -> None:
    status, described = request(
        rookery, "GET", "/v1/openapi.json", Authorization=bearer(rookery)
    )

    named = {
        operation["operationId"]
        for path in described["paths"].values()
        for operation in path.values()
    }
    assert status == 200
    assert named >= {each.name for each in OPERATIONS}


@pytest.mark.spec("B5", "G3")
def test_a_dialog_is_answered_by_keys_and_a_turn_is_interrupted(rookery: Rookery) -> None:
    rookery.start("actor")
    rookery.send("actor", "permission: Bash ls;; say: It ran.;; sleep: 60")
    eventually(lambda: rookery.session("actor")["activity"] == "permission")

    rookery.run("keys", "actor", "1")
    # The prompt that is echoed has these words, too.
    eventually(lambda: rookery.screen("actor").count("It ran.") > 1)
    rookery.run("interrupt", "actor")
    stopped = rookery.json("wait", "actor", "--timeout", "10")
    unknown = rookery.run("keys", "actor", "any-key")

    assert (stopped["activity"], stopped["reason"]) == ("idle", "interrupted")
    assert unknown.returncode == 2
    assert "shift-tab" in unknown.stderr


@pytest.mark.spec("A11")
def test_statistics_count_each_session_once(rookery: Rookery) -> None:
    for name in ("one", "two"):
        rookery.start(name)
    rookery.ask("one", "say: hi")
    rookery.run("end", "one")

    found = rookery.json("stats")

    assert (found["launched"], found["live"], found["turns"]) == (2, 1, 1)
    assert found["by_status"] == {"killed": 1, "running": 1}
    assert found["by_agent"] == {"demo": 2}
    assert sum(found["by_day"].values()) == 2
    with rookery.database() as db:
        (requested,) = db.execute(
            "select count(*) from entries where kind = 'session-requested'"
        ).fetchone()
    assert found["launched"] == requested


@pytest.mark.spec("I5")
def test_a_backup_is_restored(rookery: Rookery) -> None:
    rookery.start("kept")
    copy = rookery.folder / "copy.db"
    saved = rookery.run("backup", str(copy))
    rookery.run("end", "--all", "--yes")
    early = rookery.run("restore", str(copy))
    rookery.stop()

    restored = rookery.run("restore", str(copy))
    rookery.up()

    assert saved.returncode == 0
    assert copy.stat().st_mode & 0o777 == 0o600
    assert early.returncode == 2
    assert "rookery down" in early.stderr
    assert restored.returncode == 0, restored.stderr
    assert rookery.session("kept")["status"] == "failed"  # it lived when it was saved


@pytest.mark.spec("I5", "A3")
def test_the_doctor_finds_all_well_and_shows_no_secret(rookery: Rookery) -> None:
    done = rookery.run("doctor", "--environment")

    assert done.returncode == 0, done.stdout
    assert "tmux" in done.stdout
    assert "PATH=" in done.stdout


@pytest.mark.spec("I5")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["config", "path"], "config.toml"),
        (["config"], "limits.tmux_sessions = 100"),
        (["completion", "bash"], "_ROOKERY_COMPLETE"),
        (["service"], "KillMode=process"),
        (["logs"], "is up"),
        (["prune"], "rows deleted"),
        (["ls"], "No sessions"),
        (["status"], "0 live sessions"),
    ],
)
def test_every_command_says_something_sensible_at_once(
    served: Rookery, words: list[str], said: str
) -> None:
    done = served.run(*words)

    assert done.returncode == 0
    assert said in done.stdout


@pytest.mark.spec("K2")
def test_what_an_agent_says_does_not_command_the_terminal(rookery: Rookery) -> None:
    program = "printf '\\033]0;title\\007\\033[31mred\\033[0m\\n'; sleep 60"
    rookery.start("painter", agent="shell", command=["sh", "-c", program])

    done = rookery.run("output", "painter")

    assert "red" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.spec("K2")
def test_no_view_shows_what_a_terminal_would_obey(rookery: Rookery) -> None:
    folder = rookery.folder / "a\x9b31m\x9d0;owned\x9c\u202eb\nforged  demo  idle"
    folder.mkdir()
    rookery.client.post("sessions", agent="demo", name="held", project=str(folder))
    rookery.client.get("sessions", "held", "wait", until="up", timeout=SOON)
    rookery.send("held", "permission: Bash \x9b31m echo \u202e;; say: done")
    eventually(lambda: rookery.session("held")["activity"] == "permission")
    views = [
        *(["ls"], ["ls", "--tree"], ["panes"], ["permissions"], ["why", "held"], ["audit"]),
        *(["output", "held"], ["screen", "held"], ["events", "--no-follow"], ["inbox"]),
        *(["status"], ["stats"], ["doctor", "--environment"], ["hooks", "status"]),
    ]

    for view in [*views, *([*each, "--json"] for each in views if "doctor" not in each)]:
        printed = rookery.run(*view).stdout

        assert not set(printed) & {"\x1b", "\x9b", "\x9c", "\x9d", "\u202e"}, view
        assert not [line for line in printed.splitlines() if line.startswith("forged")], view


@pytest.mark.spec("K1", "K5")
def test_no_secret_is_written_anywhere_it_should_not_be(rookery: Rookery) -> None:
    rookery.start("canary")
    secrets = [badge_of(rookery, "canary"), rookery.home.token.read_text()]
    rookery.run("send", "canary", "say: hi")
    rookery.run("doctor", "--environment")
    shown = [line for each in secrets for line in command_lines_with(each)]

    rookery.stop()

    for file in rookery.home.state.rglob("*"):
        if file.is_file() and file != rookery.home.token:
            found = file.read_bytes()
            assert not [each for each in secrets if each.encode() in found], file
    assert shown == []
