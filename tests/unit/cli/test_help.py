"""What the program says about itself: short help, all commands, and examples that work."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rookery import __version__
from rookery.cli.root import ALIASES, COMMON, SECTIONS, rookery
from tests.support.cli import Scripted, typed

pytestmark = pytest.mark.spec("I5")

#: Signs of a shell that end a command in an example.
SHELL_SIGNS = {"|", "<", ">", ">>", "&&"}


def walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk(found, (*path, name))


COMMANDS = [(path, each) for path, each in walk(rookery, ("rookery",)) if each is not rookery]


def examples_of(command: click.Command) -> list[str]:
    _, _, listed = (command.epilog or "").partition("Examples:")
    return [line.strip() for line in listed.splitlines() if line.strip()]


def typed_commands(example: str) -> Iterator[list[str]]:
    """Yield the words of each call of this program in an example."""
    words = shlex.split(example.replace(";", " ; "))
    while "rookery" in words:
        words = words[words.index("rookery") + 1 :]
        ends = [at for at, word in enumerate(words) if word in {*SHELL_SIGNS, ";"}]
        yield words[: ends[0]] if ends else words


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_every_command_has_examples_that_parse(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str, command: click.Command
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("rookery-backup.db", "prompt.md"):
        (tmp_path / name).touch()
    found = examples_of(command)

    calls = [call for example in found for call in typed_commands(example)]

    assert calls, f"{path} has no examples"
    # The commands in the group of the daemon are also commands of the program itself.
    names = {path, path.replace("rookery daemon ", "rookery ")}
    typed = [" ".join(["rookery", *call]) for call in calls]
    assert any(each.startswith(name) for each in typed for name in names), path
    for call in calls:
        parse(call)


def parse(words: list[str]) -> None:
    """Parse a command line as the program does, without running it."""
    command: click.Command = rookery
    context = click.Context(rookery, info_name="rookery")
    while isinstance(command, click.Group) and words:
        if (inner := command.get_command(context, words[0])) is None:
            break
        context = click.Context(inner, info_name=inner.name, parent=context)
        command, words = inner, words[1:]
    with command.make_context(command.name, [*words], parent=context.parent):
        pass  # leaving it closes the files that it has opened


def test_the_program_alone_prints_a_short_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = typed(monkeypatch, Scripted())

    told = capsys.readouterr()
    assert not code
    assert told.err == ""
    assert len(told.out.splitlines()) < 24
    assert all(f"  {name} " in told.out for name in COMMON)
    assert "rookery help --all" in told.out


@pytest.mark.parametrize("words", [[], ["help", "--all"], ["help", "end"]])
def test_help_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.argv", ["rookery"])

    text, _, _ = CliRunner().invoke(rookery, words).output.partition("Examples:")

    assert max(map(len, text.splitlines())) <= 40


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["help"]])
def test_the_short_help_has_several_names(words: list[str]) -> None:
    assert CliRunner().invoke(rookery, words).output == CliRunner().invoke(rookery).output


def test_the_common_commands_are_twelve_that_exist() -> None:
    assert len(COMMON) == 12
    assert {*COMMON} <= {name for commands in SECTIONS.values() for name in commands}


def test_help_explains_a_command_also_by_its_other_name() -> None:
    run = CliRunner()

    assert "Usage: rookery end" in run.invoke(rookery, ["help", "kill"]).output
    assert (
        "Usage: rookery hooks install"
        in run.invoke(rookery, ["help", "hooks", "install"]).output
    )
    assert run.invoke(rookery, ["help", "pz"]).exit_code == 2


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_a_command_has_the_names_of_other_tools(alias: str, name: str) -> None:
    context = click.Context(rookery)

    assert rookery.get_command(context, alias) is rookery.get_command(context, name)


def test_other_names_are_listed_in_one_line_and_nowhere_else() -> None:
    lines = CliRunner().invoke(rookery, ["help", "--all"]).output.splitlines()

    assert not [line for line in lines if line.startswith("  ps ")]
    assert [line for line in lines if line.startswith("Other names: ps = ls")]


def test_the_version_is_a_command_too() -> None:
    assert CliRunner().invoke(rookery, ["version"]).output == f"rookery {__version__}\n"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("pz", "Did you mean ps?"),
        ("outptu", "Did you mean output?"),
        ("qqqqqq", "There is no command 'qqqqqq'.\n"),
    ],
)
def test_an_unknown_command_is_told_what_may_be_meant(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    word: str,
    said: str,
) -> None:
    assert typed(monkeypatch, Scripted(), word) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("group", ["token", "daemon", "workspace", "hooks", "notify"])
def test_a_group_without_a_command_prints_its_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], group: str
) -> None:
    assert not typed(monkeypatch, Scripted(), group)

    told = capsys.readouterr()
    assert told.out.startswith(f"Usage: rookery {group} [OPTIONS] COMMAND [ARGS]...\n")
    assert "Examples:" in told.out
    assert told.err == ""
