"""Mentions of files in text that no person wrote."""

from __future__ import annotations

import pytest

from rookery.agents.mentions import without_mentions

pytestmark = pytest.mark.spec("E8", "K5")


@pytest.mark.parametrize(
    ("words", "safe"),
    [
        ("look @/etc/passwd", "look @ /etc/passwd"),
        ("@key.txt", "@ key.txt"),
        ('see\n@"a b.txt"', 'see\n@ "a b.txt"'),
        ("done。@key.txt", "done。@ key.txt"),
        ("look\u200b@\u200bkey.txt", "look\u200b@ \u200bkey.txt"),
        ("(@key) [@key]", "(@ key) [@ key]"),
        ("@@key", "@ @ key"),
        ("write to a.b+c@example.org", "write to a.b+c@example.org"),
        ("at 5 @ noon, or @", "at 5 @ noon, or @"),
    ],
)
def test_claude_is_made_to_read_no_file(words: str, safe: str) -> None:
    assert without_mentions("claude", words) == safe


@pytest.mark.parametrize(
    ("words", "safe"),
    [
        ("look @key.txt", "look @ key.txt"),
        ("x@key.txt", "x@ key.txt"),
        ("\\\\@key.txt", "\\\\@ key.txt"),
    ],
)
def test_gemini_is_made_to_read_no_file(words: str, safe: str) -> None:
    assert without_mentions("gemini", words) == safe


@pytest.mark.parametrize("agent", ["codex", "opencode", "demo", "shell", "unknown"])
def test_for_programs_that_expand_no_mentions_the_text_stays(agent: str) -> None:
    assert without_mentions(agent, "use @types/node") == "use @types/node"
