"""What programs ask on their own account: titles, summaries, probes, forms. Pure."""

from __future__ import annotations

import json
import re
from enum import StrEnum

from tests.support.scripted_model import prompts, script
from tests.support.scripted_model.conversation import Conversation, Fields

_TITLE = re.compile(
    r"(generate|create|write|come up with|produce) .{0,80}title|title generator"
    r"|isNewTopic|session title|branch name|predict .{0,60}(next|user)",
    re.IGNORECASE | re.DOTALL,
)
_PROBES = {"quota", "count", "test"}
_SMALLEST = {"array": [], "integer": 1, "number": 0.5, "boolean": False, "null": None}


class Kind(StrEnum):
    SCRIPT = "script"  #: the user's own
    SUMMARY = "summary"  #: a compaction
    SCHEMA = "schema"  #: an answer of a given shape
    TITLE = "title"
    PROBE = "probe"


def kind(conversation: Conversation) -> Kind:
    prompt = conversation.prompt.text
    if prompts.asks_for_summary(prompt):
        return Kind.SUMMARY
    if conversation.tools:
        return Kind.SCRIPT
    return _kind_without_tools(conversation, prompt)


def answer(conversation: Conversation, asked: Kind) -> str:
    """Say what ``asked`` wants to hear; nothing to a script."""
    match asked:
        case Kind.SUMMARY:
            count = len(conversation.lines)
            words = f"Scripted summary of {count} messages."
            return f"<analysis>scripted</analysis>\n<summary>\n{words}\n</summary>"
        case Kind.SCHEMA:
            schema = conversation.schema or {}
            return json.dumps(_smallest(schema, schema))
        case Kind.TITLE:
            return _title(conversation)
        case Kind.PROBE:
            return "#"
        case Kind.SCRIPT:
            return ""


def _kind_without_tools(conversation: Conversation, prompt: str) -> Kind:
    if prompts.asks_for_summary(conversation.system):
        return Kind.SUMMARY
    if conversation.schema:
        return Kind.SCHEMA
    wants_title = _TITLE.search(prompt) and not script.begins_script(prompt)
    if wants_title or _TITLE.search(conversation.system):
        return Kind.TITLE
    if prompt in _PROBES or conversation.request.body.get("max_tokens") == 1:
        return Kind.PROBE
    return Kind.SCRIPT


def _title(conversation: Conversation) -> str:
    system = conversation.system
    as_json = "json" in conversation.request.raw.lower() and "{" in system
    if as_json and "title" in system.lower():
        return '{"title": "Scripted session"}'
    return "Scripted session"


def _smallest(schema: Fields, root: Fields) -> object:
    """Make the smallest value that a JSON schema allows."""
    if reference := schema.get("$ref"):
        return _smallest(_look_up(reference, root), root)
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    if choices := schema.get("enum"):
        # Gemini CLI asks who speaks next; after an answer it is the user.
        return "user" if "user" in choices else choices[0]
    for word in ("anyOf", "oneOf", "allOf"):
        if schema.get(word):
            return _smallest(schema[word][0], root)
    return _smallest_of_type(schema, root)


def _smallest_of_type(schema: Fields, root: Fields) -> object:
    names = schema.get("type") or ("object" if "properties" in schema else "string")
    name = (names if isinstance(names, str) else names[0]).lower()
    if name != "object":
        return _SMALLEST.get(name, "scripted")
    properties = schema.get("properties", {})
    required = schema.get("required", properties)
    return {key: _smallest(value, root) for key, value in properties.items() if key in required}


def _look_up(reference: str, root: Fields) -> Fields:
    found = root
    for word in reference.removeprefix("#/").split("/"):
        found = found.get(word, {})
    return found
