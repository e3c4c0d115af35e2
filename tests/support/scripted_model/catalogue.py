"""The models there are, as each vendor lists them. Pure."""

from __future__ import annotations

import re

from tests.support.scripted_model.reply import CREATED, Draft

_PATH = re.compile(r"(?:/v1|(/v1beta))?/models(?:/([^/]+))?")


def models(path: str, *, is_anthropic: bool) -> Draft | None:
    """Answer a path that asks for one model or for all of them."""
    if (found := _PATH.fullmatch(path)) is None:
        return None
    is_gemini, name = found.groups()
    if is_gemini:
        return _of_gemini(name)
    return _of_anthropic(name) if is_anthropic else _of_openai(name)


def _of_anthropic(name: str | None) -> Draft:
    if name:
        born = "2025-01-01T00:00:00Z"
        return {"type": "model", "id": name, "display_name": name, "created_at": born}
    names = ["claude-opus-4-1", "claude-sonnet-4-5", "claude-haiku-4-5"]
    listed = [_of_anthropic(each) for each in names]
    return {"data": listed, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def _of_openai(name: str | None) -> Draft:
    if name:
        return {"id": name, "object": "model", "created": CREATED, "owned_by": "fake"}
    listed = [_of_openai(each) for each in ("fake-model", "gpt-5")]
    return {"object": "list", "data": listed, "models": []}


def _of_gemini(name: str | None) -> Draft:
    if name:
        limits = {"inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536}
        return {"name": f"models/{name}", "displayName": name, **limits}
    return {"models": [_of_gemini(each) for each in ("gemini-2.5-pro", "gemini-2.5-flash")]}
