"""A page of another site in a real browser: what it sends to the HTTP door does nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.support.real.http import port_of
from tests.support.real.rookery import Rookery

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.real,
    pytest.mark.spec("K1"),
    pytest.mark.skipif(
        not BROWSER, reason="no chromium here:  scripts/system-packages chromium"
    ),
]

#: Seconds for a browser to come up and to try everything, on a busy machine.
PATIENCE_S = 100.0

#: A site that does not exist; its name leads to this computer, as after DNS rebinding.
SITE = "evil.test"

#: Tries each way by which a page can make a browser send something without being asked, at each
#: name of the target; then reports what it could read. TARGETS and START are filled in.
PAGE = """<!doctype html><iframe name="sink"></iframe><script>
const targets = TARGETS, start = START, seen = {};
const settled = (promise) => Promise.race([
  promise, new Promise((done) => setTimeout(() => done("no answer"), 20000))]);
const read = async (url, how) => {
  try {
    const answer = await fetch(url, how);
    return answer.type === "opaque" ? "opaque" : "READ " + answer.status;
  } catch (error) { return "refused"; }
};
const socket = (url, protocols) => new Promise((done) => {
  const opened = new WebSocket(url, protocols);
  opened.onopen = () => done("OPENED");
  opened.onerror = () => done("refused");
});
const source = (url) => new Promise((done) => {
  const events = new EventSource(url);
  events.onmessage = () => done("READ");
  events.onopen = () => done("OPENED");
  events.onerror = () => { events.close(); done("refused"); };
});
const form = (url, kind) => {
  const made = document.createElement("form");
  Object.assign(made, {action: url, method: "POST", enctype: kind, target: "sink"});
  const field = document.createElement("input");
  // As text/plain this becomes JSON.
  Object.assign(field, {name: start.slice(0, -1) + ',"x":"', value: '"}'});
  made.append(field);
  document.body.append(made);
  made.submit();
  return "sent";
};
const post = (mode, type) => (
  {method: "POST", mode, body: start, headers: {"Content-Type": type}});
const beacon = (url) => navigator.sendBeacon(url, new Blob([start], {type: "text/plain"}));
(async () => {
  for (const [name, host] of Object.entries(targets)) {
    const at = "http://" + host, path = at + "/v1/sessions";
    seen[name] = {
      text: await settled(read(path, post("cors", "text/plain"))),
      json: await settled(read(path, post("cors", "application/json"))),
      no_cors: await settled(read(path, post("no-cors", "text/plain"))),
      stop: await settled(read(at + "/v1/stop", post("no-cors", "text/plain"))),
      get: await settled(read(at + "/v1/sessions")),
      beacon: beacon(path) ? "sent" : "not sent",
      form: form(path, "text/plain"),
      socket: await settled(socket("ws://" + host + "/v1/events")),
      protocol: await settled(socket("ws://" + host + "/v1/events", ["bearer", "x"])),
      events: await settled(source(at + "/v1/events")),
    };
  }
  await fetch("/report", {method: "POST", body: JSON.stringify(seen)});
})();
</script>"""


class Site(ThreadingHTTPServer):
    """Serves the page, takes its report, and notes what else it is asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.page = ""
        self.report: dict[str, dict[str, str]] = {}
        self.is_reported = Event()
        self.asked: list[tuple[str, str, str]] = []  #: method, path, type of the body

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self._note()
        self._answer(self.server.page if self.path == "/" else "{}")

    def do_POST(self) -> None:
        self._note()
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/report":
            self.server.report = json.loads(body)
            self.server.is_reported.set()
        self._answer("{}")

    def do_OPTIONS(self) -> None:
        self._note()
        self._answer("")

    def _note(self) -> None:
        kind = self.headers.get("Content-Type", "").partition(";")[0]
        self.server.asked.append((self.command, self.path, kind))

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:  # noqa: ANN401 - the library's own
        pass


@contextmanager
def site() -> Iterator[Site]:
    with Site() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@contextmanager
def browsing(url: str, folder: Path) -> Iterator[None]:
    """Have a browser of its own look at a page while the block lasts."""
    assert BROWSER
    browser = subprocess.Popen(
        [
            BROWSER,
            "--headless=new",
            "--no-sandbox",  # tests may run as root
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            f"--user-data-dir={folder / 'profile'}",
            f"--host-resolver-rules=MAP {SITE} 127.0.0.1",
            url,
        ],
        env={**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()


def test_a_page_of_another_site_does_and_reads_nothing(rookery: Rookery) -> None:
    pid, door, proof = rookery.pid, port_of(rookery), rookery.folder / "proof"
    start = {
        "agent": "shell",
        "project": str(rookery.project),
        "command": ["touch", str(proof)],
    }
    with site() as page, site() as control:
        names = {
            "by number": f"127.0.0.1:{door}",
            "by name": f"localhost:{door}",
            "rebound": f"{SITE}:{door}",
            "control": f"127.0.0.1:{control.port}",
        }
        page.page = PAGE.replace("TARGETS", json.dumps(names)).replace(
            "START", json.dumps(json.dumps(start))
        )
        with browsing(f"http://{SITE}:{page.port}/", rookery.folder):
            assert page.is_reported.wait(PATIENCE_S), page.asked

    found = {name: page.report[name] for name in names if name != "control"}
    told = {each for of_target in found.values() for each in of_target.values()}
    assert told <= {"refused", "opaque", "sent"}, found
    for of_target in found.values():
        assert of_target["socket"] == of_target["protocol"] == of_target["events"] == "refused"
        assert of_target["get"] == of_target["json"] == "refused"
    # A server without a guard would have got all of it.
    got = {(method, kind) for method, path, kind in control.asked if path == "/v1/sessions"}
    assert {("POST", "text/plain"), ("OPTIONS", ""), ("GET", "")} <= got
    assert sum(each == ("POST", "/v1/sessions", "text/plain") for each in control.asked) >= 3
    assert rookery.client.get("sessions")["sessions"] == []
    assert rookery.json("status")["pid"] == pid
    assert not proof.exists()
