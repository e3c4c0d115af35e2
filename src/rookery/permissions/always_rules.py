"""Make an allow rule from a call that a person wants to be allowed always."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rookery.model.errors import BadInput, CommandRefused
from rookery.model.patterns import SHELL_SEPARATORS, Pattern
from rookery.model.permissions import (
    DIALOG,
    PLAN,
    STOP,
    Call,
    Request,
    telling_field,
    without_comment,
)
from rookery.model.rules import (
    ANYTHING,
    PATH_FIELDS,
    Circumstances,
    Rule,
    decide,
    field_text,
)

#: Characters of a call that a rule may repeat: fewer than the stored input of a call that was
#: too long to be kept whole.
MAX_RULE_CHARACTERS = 4_000

_SURROGATE = re.compile("[\ud800-\udfff]")

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

#: A word of a command that an offered pattern repeats: no path, no option, no wildcard.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class RuleWish:
    """What a person wants to be allowed: this exact call, or every call like it."""

    name: str  #: of the rule
    pattern: str = ""  #: the tool's name, a blank and a glob; empty for the exact call
    everywhere: bool = False  #: in all projects, not only in the session's


def require_expressible(request: Request, pattern: str = "") -> None:
    """Refuse a request whose call no rule describes exactly, nor can a pattern be checked.

    Raises ``CommandRefused``.
    """
    if request.kind == "question" or request.tool in {DIALOG, STOP, PLAN}:
        raise CommandRefused(
            "Only a tool call that its agent has reported can be allowed always. Answer this"
            " request once:  rookery permissions"
        )
    if not request.is_exact:
        why = (
            "it cannot be checked that the pattern matches what would run"
            if pattern
            else "a rule would also allow other calls"
        )
        raise CommandRefused(
            f"The agent did not report the whole call exactly, so {why}. Allow it once:"
            f"  rookery allow {request.id}"
        )


def make_rule(call: Call, circumstances: Circumstances, wish: RuleWish) -> Rule:
    """Return the rule that allows a call, with its paths resolved, and others as wished.

    Raises ``BadInput`` or ``CommandRefused`` if there is no such rule.
    """
    project = Pattern(circumstances.project, "literal")
    rule = Rule(
        name=wish.name,
        decision="allow",
        tool=Pattern(call.tool, "literal"),
        input=_like(call, wish.pattern) if wish.pattern else _exactly(call),
        agent=Pattern(circumstances.agent, "literal"),
        project=ANYTHING if wish.everywhere else project,
        folder=None if wish.everywhere or wish.pattern else _folder(call),
        exact=not wish.pattern,
    )
    if decide([rule], call, circumstances) is not rule:
        raise CommandRefused(_why_not(call, circumstances, wish))
    return rule


def offer(call: Call) -> str:
    """Return a pattern for calls like this one, such as ``Bash git status*``; or nothing."""
    command = call.input.get("command")
    if not isinstance(command, str) or any(each in command for each in SHELL_SEPARATORS):
        return ""
    words = command.split()[:2]
    if not words or not all(map(_PLAIN_WORD.fullmatch, words)):
        return ""
    return f"{call.tool} {' '.join(words)}*"


def _exactly(call: Call) -> dict[str, Pattern]:
    fields = without_comment(call.tool, call.input)
    patterns = {name: Pattern(_value(call, name), "literal") for name in fields}
    if sum(len(name) + len(each.text) for name, each in patterns.items()) > MAX_RULE_CHARACTERS:
        raise CommandRefused(
            f"The call has more than {MAX_RULE_CHARACTERS:,} characters, too many for a rule."
            " Give a pattern, or write a rule by hand:  rookery config path"
        )
    return patterns


def _value(call: Call, name: str) -> str:
    """Return the text that a rule compares with a field: for a path the real one."""
    value = call.input[name]
    if name not in PATH_FIELDS or not isinstance(value, str):
        return field_text(value)
    if name in call.uncertain or len(paths := call.real_paths.get(name, frozenset())) != 1:
        raise CommandRefused(
            f"The path in {name} may name several files, so no exact rule can be made."
        )
    return next(iter(paths))


def _folder(call: Call) -> Pattern | None:
    folder = next(iter(call.real_folders), "") if len(call.real_folders) == 1 else ""
    return Pattern(folder, "literal") if folder else None


def _like(call: Call, pattern: str) -> Mapping[str, Pattern]:
    tool, _, glob = pattern.partition(" ")
    field = telling_field(call.input)
    if tool != call.tool or not glob.strip() or not field:
        example = offer(call) or f"{call.tool} GLOB"
        raise BadInput(
            f"a pattern is the tool of the request and a glob, for instance: {example!r}"
        )
    return {field: Pattern(glob.strip())}


def _why_not(call: Call, circumstances: Circumstances, wish: RuleWish) -> str:
    """Return why the rule that was wished for does not allow the call."""
    if wish.pattern:
        field = telling_field(call.input)
        about = f"{field} is {field_text(call.input[field])!r}"
        trap = (
            "a path must be absolute, with all links resolved"
            if field in PATH_FIELDS
            else "a wildcard does not match shell separators such as ; and |"
        )
        return f"the pattern does not match this call ({about}); {trap}."
    if not wish.everywhere and any(
        each.project != circumstances.project for each in circumstances.ancestors
    ):
        return (
            "the session was started by one in another project, and a rule for one project"
            " does not apply to it. To allow it in all projects:  --everywhere"
        )
    return "no rule describes this call exactly. Allow it once, or write a rule by hand."


def as_toml(rule: Rule) -> str:
    """Return a rule that allows as a table of the rules file."""
    return "\n".join(["[[allow]]", *_lines(rule), ""])


def _lines(rule: Rule) -> Iterator[str]:
    yield f"name = {_quoted(rule.name)}"
    for key, pattern in (
        ("tool", rule.tool),
        *((f"input.{_key(name)}", each) for name, each in rule.input.items()),
        ("agent", rule.agent),
        ("project", rule.project),
        ("folder", rule.folder),
    ):
        if pattern and pattern != ANYTHING:
            yield f"{key} = {_pattern(pattern)}"
    if rule.exact:
        yield "exact = true"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _quoted(name)


def _pattern(pattern: Pattern) -> str:
    if pattern.kind == "glob":
        return _quoted(pattern.text)
    return f"{{ {pattern.kind} = {_quoted(pattern.text)} }}"


def _quoted(text: str) -> str:
    """Return a TOML string in which every character that is not visible is escaped."""
    if _SURROGATE.search(text):
        raise CommandRefused("The call has characters that a file of rules cannot contain.")
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"
