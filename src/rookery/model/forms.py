"""A form that an MCP server or an agent asks its person to fill in, as questions. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rookery.model.permissions import Question

#: The answers to a form without fields, which only asks for agreement.
YES, NO = "Accept", "Decline"

#: Characters of a question or an option.
MAX_TEXT_CHARACTERS = 2_000

#: Characters of the label of a field, and of its name, which tells it from one with that label.
MAX_LABEL_CHARACTERS, MAX_NAME_CHARACTERS = 1_000, 200

_TRUE = frozenset({"true", "yes", "y", "1", "on"})


@dataclass(frozen=True, slots=True)
class _Option:
    value: str  #: what the form expects
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """A message and the fields that it asks for, as a JSON schema."""

    message: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    #: The end of the name of the field that takes free text beside a choice; empty if forms of
    #: this kind have none.
    other_suffix: str = ""

    @property
    def questions(self) -> tuple[Question, ...]:
        """Return a question for each field; a form without fields asks for agreement."""
        found = (_question(text, about) for text, _, about in self._asked())
        return tuple(found) or (Question(self._text, (YES, NO)),)

    def completed(self, answers: Mapping[str, Sequence[str]]) -> dict[str, object] | None:
        """Return the values of the fields; ``None`` if the form was declined or left empty."""
        asked = list(self._asked())
        if not asked:
            return {} if [YES] in [list(each) for each in answers.values()] else None
        values: dict[str, object] = {}
        for text, name, about in asked:
            if text in answers:
                values |= self._values(name, about, answers[text])
        return values or None

    @property
    def _text(self) -> str:
        return self.message[:MAX_TEXT_CHARACTERS]

    def _asked(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Yield each field with its question; a form with one field asks only its message.

        Answers are found by their question, so no two fields have the same.
        """
        fields = self._fields()
        asked = {name: each for name, each in fields.items() if not self._is_other(name)}
        labels = {name: _label(name, each) for name, each in asked.items()}
        uses, taken = Counter(labels.values()), set[str]()
        for number, (name, each) in enumerate(asked.items(), 1):
            label = labels[name]
            if uses[label] > 1:
                label = f"{label} ({name[:MAX_NAME_CHARACTERS]})"
            while label in taken:  # the label of another field may look like that
                label = f"{label} ({number})"
            taken.add(label)
            yield self._text if len(asked) == 1 else self._question(label), name, each

    def _question(self, label: str) -> str:
        """Return the message with the label of a field; of the two, the message is cut."""
        room = max(MAX_TEXT_CHARACTERS - len(label) - 1, 0)
        return f"{self.message[:room]} {label}"

    def _fields(self) -> Mapping[str, Mapping[str, Any]]:
        match self.schema:
            case {"properties": dict(fields)}:
                return {
                    str(key): each for key, each in fields.items() if isinstance(each, dict)
                }
            case _:
                return {}

    def _is_other(self, name: str) -> bool:
        suffix = self.other_suffix
        choice = name.removesuffix(suffix) if suffix else name
        return choice != name and choice in self._fields()

    def _values(
        self, name: str, about: Mapping[str, Any], given: Sequence[str]
    ) -> dict[str, object]:
        """Return the value of a field, and of the field for free text beside it."""
        options = {each.label: each.value for each in _options(about)}
        beside = f"{name}{self.other_suffix}"
        free = [each for each in given if options and each not in options]
        if not (free and self.other_suffix and beside in self._fields()):
            return {name: _value(about, [options.get(each, each) for each in given])}
        chosen = [options[each] for each in given if each in options]
        values: dict[str, object] = {beside: ", ".join(free)}
        return {name: _value(about, chosen), **values} if chosen else values


def _label(name: str, entry: Mapping[str, Any]) -> str:
    return str(entry.get("description") or entry.get("title") or name)[:MAX_LABEL_CHARACTERS]


def _question(text: str, about: Mapping[str, Any]) -> Question:
    options = _options(about)
    described = tuple(each.description for each in options)
    return Question(
        text,
        tuple(each.label for each in options),
        takes_several=about.get("type") == "array",
        descriptions=described if any(described) else (),
    )


def _options(about: Mapping[str, Any]) -> list[_Option]:
    match about:
        case {"type": "boolean"}:
            return [_Option("Yes", "Yes"), _Option("No", "No")]
        case {"items": dict(items)}:
            return _options(items)
        case {"oneOf": list(titled)} | {"anyOf": list(titled)}:
            return [_option(each) for each in titled if isinstance(each, dict)]
        case {"enum": list(values), "enumNames": list(names)} if len(values) == len(names):
            return [
                _Option(str(each), str(name)) for each, name in zip(values, names, strict=True)
            ]
        case {"enum": list(values)}:
            return [_Option(str(each), str(each)) for each in values]
        case _:
            return []


def _option(entry: Mapping[str, Any]) -> _Option:
    value = str(entry.get("const", ""))
    label = str(entry.get("title") or value)[:MAX_TEXT_CHARACTERS]
    return _Option(value, label, str(entry.get("description") or "")[:MAX_TEXT_CHARACTERS])


def _value(about: Mapping[str, Any], given: Sequence[str]) -> object:
    """Convert an answer to the field's type; text that cannot be converted stays text."""
    text = ", ".join(given)
    try:
        match about.get("type"):
            case "array":
                return list(given)
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "boolean":
                return text.strip().lower() in _TRUE
            case _:
                return text
    except ValueError:
        return text
