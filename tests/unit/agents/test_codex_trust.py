"""What Codex keeps of the hooks that its user trusts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.agents.codex import trust
from rookery.agents.shared import toml_edit
from rookery.model.errors import ConfigBroken
from rookery.ports.settings import FoundHook
from tests.support import files

FILE = "/home/anna/.codex/hooks.json"
TRUSTED = {
    f"{FILE}:stop:0:0": "sha256:1",
    f"{FILE}:pre_tool_use:2:0": "sha256:2",
    '/a "b"\\c:stop:0:0': "sha256:3",
}

#: What Codex itself writes after all that is there, once its user has trusted them.
BY_CODEX = "\n[hooks.state]\n" + "".join(
    f"\n[hooks.state.{toml_edit.string(key)}]\ntrusted_hash = {toml_edit.string(kept)}\n"
    for key, kept in TRUSTED.items()
)


@pytest.mark.spec("C1")
@given(files.as_toml(trusts=False))
def test_what_we_grant_can_be_withdrawn_to_the_byte(before: str) -> None:
    text = before + "\n[notice]\n"

    new = trust.grant(text, TRUSTED)

    assert trust.standing(new, TRUSTED) == "trusted"
    assert trust.withdraw(new, TRUSTED) == text


@pytest.mark.spec("C1")
@given(files.as_toml())
def test_what_we_grant_leaves_no_setting_behind(text: str) -> None:
    left = toml_edit.parse(trust.withdraw(trust.grant(text, TRUSTED), TRUSTED))
    before = toml_edit.parse(text)

    for each in (left, before):
        each.get("hooks", {}).pop("state", None) or each.get("hooks") or each.pop("hooks", None)
    assert left == before


@pytest.mark.spec("C1")
@given(files.as_toml(trusts=False), st.sampled_from(["", "\n[notice]\nseen = true\n"]))
def test_what_codex_wrote_can_be_withdrawn_to_the_byte(before: str, later: str) -> None:
    text = before.replace("\r\n", "\n") + "\n"

    left = trust.withdraw(text + BY_CODEX + later, TRUSTED)

    assert left == text + later


def test_a_head_stays_that_something_stands_below() -> None:
    text = BY_CODEX + '\n[hooks.state."mine"]\ntrusted_hash = "x"\n'

    left = trust.withdraw(text, TRUSTED)

    assert left == '\n[hooks.state]\n\n[hooks.state."mine"]\ntrusted_hash = "x"\n'


@pytest.mark.spec("C1")
def test_it_is_said_how_codex_takes_them() -> None:
    key = f"{FILE}:stop:0:0"
    table = f"[hooks.state.{toml_edit.string(key)}]\n"

    def standing(said: str) -> str:
        return trust.standing(said, {key: "sha256:1"})

    assert standing("") == "untrusted"
    assert standing("hooks = 1") == "untrusted"
    assert standing(table + 'trusted_hash = "sha256:1"') == "trusted"
    assert standing(table + 'trusted_hash = "sha256:0"') == "changed"
    assert standing(table + "enabled = false") == "off"


def test_what_was_trusted_otherwise_is_trusted_anew_and_what_is_off_stays_off() -> None:
    old, off = f"{FILE}:stop:0:0", f"{FILE}:interrupt:0:0"
    text = f'[hooks.state."{old}"]\ntrusted_hash = "sha256:0"\n\n'
    text += f'[hooks.state."{off}"]\nenabled = false\n'

    new = trust.grant(text, {old: "sha256:1", off: "sha256:2"})

    state = toml_edit.parse(new)["hooks"]["state"]
    assert state == {off: {"enabled": False}, old: {"trusted_hash": "sha256:1"}}


def test_what_cannot_be_added_to_is_refused() -> None:
    with pytest.raises(ConfigBroken, match="confirm them in Codex"):
        trust.grant("hooks = {}\n", TRUSTED)


def test_a_hook_is_named_by_where_it_stands() -> None:
    found = [
        FoundHook("Stop", 1, 0, "sh x", 20, "x"),
        FoundHook("SessionEnd", 0, 2, "sh x", 60, "x"),
        FoundHook("PreToolUse", 0, 0, "sh x", None, "x"),
        FoundHook("Unheard", 0, 0, "sh x", 20, "x"),
    ]

    named = trust.hashes(FILE, found)

    assert named == {
        f"{FILE}:stop:1:0": trust.digest("stop", "sh x", 20),
        f"{FILE}:session_end:0:2": trust.digest("session_end", "sh x", 3),
        f"{FILE}:pre_tool_use:0:0": trust.digest("pre_tool_use", "sh x", 600),
    }
