"""Settings of agents as people may have written them: any content, any look."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

EVENTS = ("SessionStart", "Stop", "PreToolUse", "BeforeTool", "Other")

_leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(['"', "\\", "// no", "/* no */", "{", "],", "a\nb", "ä🙂", "#"])
)
_values = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
_commands = st.sampled_from(["echo hi", "/opt/check --fast", "say 'rookery-hook'", 'a "b" c'])
_hook = st.fixed_dictionaries(
    {"type": st.just("command"), "command": _commands}, optional={"timeout": st.integers(1, 99)}
)
_group = st.fixed_dictionaries(
    {"hooks": st.lists(_hook, max_size=2)}, optional={"matcher": st.sampled_from(["", "Bash"])}
)
hooks = st.dictionaries(st.sampled_from(EVENTS), st.lists(_group, max_size=3), max_size=4)


@st.composite
def settings(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a user may have set: among other things, hooks, or none, or empty ones."""
    found = draw(st.dictionaries(st.text(max_size=6), _values, max_size=4))
    found.pop("hooks", None)
    if draw(st.booleans()):
        found["hooks"] = draw(hooks)
    items = draw(st.permutations(list(found.items())))
    return dict(items)


@st.composite
def as_json(draw: st.DrawFn, value: object, *, comments: bool = False) -> str:
    """Draw a text that says ``value``: neat, on one line, or with blanks anywhere."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    if not comments and draw(st.booleans()):
        indent = draw(st.sampled_from([None, 0, 1, 2, 4, 8, "\t"]))
        commas = (",", ":") if draw(st.booleans()) else None
        escaped = draw(st.booleans())
        text = json.dumps(value, indent=indent, separators=commas, ensure_ascii=escaped)
    else:
        text = _loose(draw, value, comments=comments)
    end = draw(st.sampled_from(["", "\n", "\n\n", " "]))
    return (text + end).replace("\n", newline)


def _loose(draw: st.DrawFn, value: object, *, comments: bool) -> str:
    remarks = ["/* a, {b} */", '// it\'s "c", [\n'] if comments else []

    def blank() -> str:
        return draw(st.sampled_from(["", "", " ", "\n", "\n   ", "\t", *remarks]))

    def told(each: object) -> str:
        if isinstance(each, Mapping):
            pairs = (
                f"{blank()}{_quoted(k)}{blank()}:{blank()}{told(v)}" for k, v in each.items()
            )
            return "{" + f"{blank()},".join(pairs) + blank() + "}"
        if isinstance(each, Sequence) and not isinstance(each, str):
            return "[" + ",".join(f"{blank()}{told(e)}{blank()}" for e in each) + blank() + "]"
        return _quoted(each)

    return blank() + told(value)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


_GROUP = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "true"'
_LOOSE = '[[hooks.Stop]] # mine\nmatcher = "x"\n  [[hooks.Stop.hooks]]\n  type = "x"'
_VALUES = (
    *("# a remark", "", 'model = "x" # y', "number = nan", "when = 2026-01-01T00:00:00Z"),
    'text = """\n[hooks.state."x"]\n[[hooks.Stop]]\n"""',
    "list = [\n[1, 2],\n['a'],\n]",
)
_TABLES = (_GROUP, _LOOSE, "# of nothing", "", '[projects."/a b"]\ntrust_level = "trusted"')
_TRUSTED = (
    "[hooks.state]",
    '[hooks.state."/home/anna/.codex/config.toml:stop:0:0"]\ntrusted_hash = "sha256:0"',
)


@st.composite
def as_toml(draw: st.DrawFn, *, trusts: bool = True) -> str:
    """Draw a text of Codex's settings, with hooks as tables, or with none."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    tables = (*_TABLES, *_TRUSTED) if trusts else _TABLES
    pieces = draw(st.lists(st.sampled_from(_VALUES), max_size=4, unique=True))
    pieces += draw(st.lists(st.sampled_from(tables), max_size=5, unique=True))
    end = draw(st.sampled_from(["", "\n", "\n\n"]))
    return ("\n".join(pieces) + end).replace("\n", newline)
