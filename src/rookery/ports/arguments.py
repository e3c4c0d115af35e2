"""The arguments of an agent's program that a person may not give for a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

#: The replacement of an option that has no counterpart among Rookery's options.
NOTHING = ""


@dataclass(frozen=True, slots=True)
class ReservedArguments:
    """Options that Rookery gives itself, or that would cut it off from the program."""

    #: Each option, with the option of `rookery start` that replaces it.
    options: Mapping[str, str] = field(default_factory=dict)
    #: Options whose value begins with the key of a setting, with the prefix of that key.
    setting_options: Mapping[str, str] = field(default_factory=dict)
    #: The keys of the settings that Rookery sets itself.
    settings: tuple[str, ...] = ()

    def why_not(self, arguments: Sequence[str]) -> str:
        """Return why a program must not be given these arguments; empty if it may."""
        if arguments and not arguments[0].startswith("-"):
            return (
                f"{arguments[0]!r} is not an option. Put the prompt before --, and options of"
                " the agent's program after it."
            )
        if any("\0" in each for each in arguments):
            return "no program can be given a NUL character."
        return next(self._refusals(arguments), "")

    def _refusals(self, arguments: Sequence[str]) -> Iterator[str]:
        for word, following in pairwise((*arguments, "")):
            option, value = _split(word, following)
            if option in self.options:
                instead = self.options[option]
                advice = f"; before --, give {instead}" if instead.startswith("--") else ""
                advice = advice or (f"; use {instead}" if instead else "")
                yield f"{option} is for Rookery to set{advice}."
            elif option in self.setting_options and self._is_reserved(option, value):
                yield f"{option} {value.partition('=')[0]} is for Rookery to set."

    def _is_reserved(self, option: str, value: str) -> bool:
        key = self.setting_options[option] + value.partition("=")[0].strip()
        # A table that contains a setting would replace it, too.
        return any(
            key == each or key.startswith(f"{each}.") or each.startswith(f"{key}.")
            for each in self.settings
        )


def _split(word: str, following: str) -> tuple[str, str]:
    """Return an option and its value: ``--key=value``, ``--key value``, ``-k value``."""
    if word.startswith("--"):
        option, equals, value = word.partition("=")
        return option, value if equals else following
    option, value = word[:2], word[2:]
    return option, value.removeprefix("=") or following
