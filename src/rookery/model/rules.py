"""Rules for tool calls: what a rule matches, and which rule decides."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from rookery.model.folders import (
    COMMAND_FIELDS,
    FOLDER_FIELDS,
    absolute_path,
    is_within,
    named_folders,
    paths_in,
    runs_command,
    working_folders,
)
from rookery.model.patterns import Pattern
from rookery.model.permissions import FOLDER, PLAN, Call, without_comment
from rookery.model.variables import ENVIRONMENT, redirects, variables_of

#: In order of precedence: a rule that denies beats all that allow.
Decision: TypeAlias = Literal["deny", "allow", "ask"]
DECISIONS: tuple[Decision, ...] = ("deny", "allow", "ask")

#: Fields of a tool's input that hold the path of a file or a folder.
PATH_FIELDS = frozenset(
    {
        *("file_path", "filePath", "path", "absolute_path", "notebook_path", "notebookPath"),
        *("directory", "dir_path", "dirPath", "cwd", "workdir", "old_path", "new_path"),
    }
)

#: The tool whose rules decide about the commands of a skill.
SHELL = "Bash"

ANYTHING = Pattern("*")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The session that makes a call, and its project."""

    agent: str
    project: str
    session: str  #: its name
    #: Whether the name was given when it was started. The name of an agent that was started by
    #: hand comes from its folder or prompt, which a command of a session could choose.
    is_named: bool = True
    #: The sessions that started this one, directly or indirectly: their rules bind it as well.
    ancestors: tuple[Circumstances, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A decision about the calls that match all of its patterns."""

    name: str
    decision: Decision
    tool: Pattern = ANYTHING
    input: Mapping[str, Pattern] = field(default_factory=dict)
    agent: Pattern = ANYTHING
    project: Pattern = ANYTHING
    session: Pattern = ANYTHING
    #: The pattern for the folder that the call works in. Without it, a rule that allows applies
    #: only to commands inside the session's project.
    folder: Pattern | None = None
    reason: str = ""
    #: Match only calls without fields other than those in ``input`` and the agent's comment.
    exact: bool = False

    def matches(self, call: Call, circumstances: Circumstances) -> bool:
        has = _allows if self.decision == "allow" else _restricts
        return (
            any(map(self.tool.matches, (call.tool, *call.other_names)))
            and self._is_about(circumstances)
            and all(has(call, circumstances, name, each) for name, each in self.input.items())
            and self._is_in_folder(call, circumstances)
            and (self.decision != "allow" or self._may_allow(call))
            and (not self.exact or self._names_all_fields(call))
        )

    def _names_all_fields(self, call: Call) -> bool:
        fields = without_comment(call.tool, call.input).keys()
        return not call.is_shown_in_part and fields == {*self.input}

    def _is_in_folder(self, call: Call, circumstances: Circumstances) -> bool:
        """Return whether the rule applies to the folder that a call works in."""
        if self.decision == "allow":
            return self._allows_folder(call, circumstances)
        folders = {*call.real_folders, *_folders(call, circumstances)}
        return self.folder is None or any(map(self.folder.matches, folders))

    def _allows_folder(self, call: Call, circumstances: Circumstances) -> bool:
        folders = call.real_folders or frozenset(_folders(call, circumstances))
        is_certain = call.uncertain.isdisjoint({FOLDER, *FOLDER_FIELDS})
        if self.folder is not None:
            return is_certain and all(map(self.folder.matches, folders))
        named = named_folders(call.input)
        if not runs_command(call.input) or (named and named.keys() <= self.input.keys()):
            return True
        return is_certain and all(is_within(each, circumstances.project) for each in folders)

    def _may_allow(self, call: Call) -> bool:
        """Return whether a rule may allow a call like this one without a person.

        No rule can answer a question, and a plan is allowed only by a rule that names its tool.
        """
        if call.questions or (call.tool == PLAN and PLAN not in self.tool.text):
            return False
        return self._allows_variables(call)

    def _allows_variables(self, call: Call) -> bool:
        """Return whether the rule allows the variables that a call sets for its command.

        Variables can make the same command run another program. So a rule must name them, and
        those that redirect a command are never allowed.
        """
        variables = variables_of(call.input)
        return variables is None or (ENVIRONMENT in self.input and not redirects(variables))

    def _is_about(self, circumstances: Circumstances) -> bool:
        """Return whether the rule applies to the session that makes a call.

        A session chooses the name and the folder of the sessions that it starts. So a rule that
        allows must match all ancestors too, and a rule that restricts an ancestor also applies.
        """
        if self.decision == "allow":
            lineage = (circumstances, *circumstances.ancestors)
            if self.session != ANYTHING and not all(each.is_named for each in lineage):
                return False
            return self.agent.matches(circumstances.agent) and all(map(self._is_where, lineage))
        return self._names(circumstances) or any(map(self._names, circumstances.ancestors))

    def _names(self, circumstances: Circumstances) -> bool:
        return self.agent.matches(circumstances.agent) and self._is_where(circumstances)

    def _is_where(self, circumstances: Circumstances) -> bool:
        return self.project.matches(circumstances.project) and self.session.matches(
            circumstances.session
        )


#: In force while no valid version of the rules is known.
ASK_ALWAYS = Rule(
    "no valid rules", "ask", reason="The rules cannot be read, so every call is asked about."
)

#: Decides when a restricting rule may match, but the true value of a field is unknown.
UNCERTAIN = Rule(
    "uncertain input", "ask", reason="A field that a rule names could not be read for certain."
)


#: Decides when a rule restricts commands, and a call may run commands that are unknown.
UNKNOWN_COMMANDS = Rule(
    "unknown commands", "ask", reason="The commands that it may run could not be read."
)


def decide(rules: Iterable[Rule], call: Call, circumstances: Circumstances) -> Rule | None:
    """Return the deciding rule: among the matching rules, deny before allow before ask.

    The commands that a call runs itself are checked against the rules as separate calls.
    """
    all_rules = tuple(rules)
    first = _decide(all_rules, call, circumstances)
    if first and first.decision == "deny":
        return first
    return _restriction_of_commands(all_rules, call, circumstances) or first


def _restriction_of_commands(
    rules: tuple[Rule, ...], call: Call, circumstances: Circumstances
) -> Rule | None:
    """Return the rule that denies, or else asks about, a command that a call runs itself."""
    if call.commands is None:
        deciding_rule = _decide(rules, _shell_call(call, "", is_certain=False), circumstances)
        is_restricted = deciding_rule is not None and deciding_rule.decision != "allow"
        return UNKNOWN_COMMANDS if is_restricted else None
    # The value of a variable is known only when Claude or the shell expands it.
    calls = (_shell_call(call, each, is_certain="$" not in each) for each in call.commands)
    deciding = [rule for each in calls if (rule := _decide(rules, each, circumstances))]
    restricting = [rule for rule in deciding if rule.decision != "allow"]
    return min(restricting, key=lambda rule: DECISIONS.index(rule.decision), default=None)


def _shell_call(call: Call, command: str, *, is_certain: bool) -> Call:
    """Return the call of the shell that stands for a command which a tool runs itself."""
    # If the input is uncertain, so is the file whose commands were read.
    is_sure = is_certain and call.uncertain <= {FOLDER}
    uncertain = (call.uncertain & {FOLDER}) | (frozenset() if is_sure else {"command"})
    return Call(
        SHELL,
        {"command": command},
        uncertain=uncertain,
        folder=call.folder,
        real_folders=call.real_folders,
    )


def _decide(rules: tuple[Rule, ...], call: Call, circumstances: Circumstances) -> Rule | None:
    matching = [rule for rule in rules if rule.matches(call, circumstances)]
    first = min(matching, key=lambda rule: DECISIONS.index(rule.decision), default=None)
    if first and first.decision == "deny":
        return first
    if call.uncertain and any(_may_restrict(rule, call, circumstances) for rule in rules):
        return UNCERTAIN
    return first


def needs_folder(rules: Iterable[Rule], call: Call) -> bool:
    """Return whether a rule depends on the folder that a call works in."""
    is_command = runs_command(call.input) or call.commands != ()
    return any(
        rule.folder is not None or (is_command and rule.decision == "allow") for rule in rules
    )


def path_fields(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the path fields that the rules use."""
    return PATH_FIELDS.intersection(name for rule in rules for name in rule.input)


def _may_restrict(rule: Rule, call: Call, circumstances: Circumstances) -> bool:
    """Return whether a rule would match if its uncertain fields had the right values."""
    has_folder = rule.folder is not None and FOLDER in call.uncertain
    if rule.decision == "allow":
        return False
    if not has_folder and not call.uncertain.intersection(rule.input):
        return False
    certain = {name: each for name, each in rule.input.items() if name not in call.uncertain}
    folder = None if has_folder else rule.folder
    return replace(rule, input=certain, folder=folder).matches(call, circumstances)


def _allows(call: Call, circumstances: Circumstances, name: str, pattern: Pattern) -> bool:
    """Match a field for a rule that allows: all that the field may refer to must match."""
    if name not in call.input or name in call.uncertain:
        return False
    value = field_text(call.input[name])
    if name in COMMAND_FIELDS:
        # JSON would turn a newline in the value into two harmless characters.
        is_text = isinstance(call.input[name], str)
        return is_text and pattern.matches_one_command(value)
    if name in PATH_FIELDS and (named := paths_in(call.input[name])):
        paths = call.real_paths.get(name) or {_absolute(each, circumstances) for each in named}
        return all(pattern.matches(each) for each in paths)
    return pattern.matches(value)


def _restricts(call: Call, circumstances: Circumstances, name: str, pattern: Pattern) -> bool:
    """Match a field for a rule that denies or asks: any value it may refer to is enough."""
    if name not in call.input:
        return False
    return any(pattern.matches(each) for each in _meanings(call, circumstances, name))


def _meanings(call: Call, circumstances: Circumstances, name: str) -> Iterator[str]:
    value = call.input[name]
    yield field_text(value)
    if name in PATH_FIELDS:
        for each in paths_in(value):
            yield from (each, _absolute(each, circumstances))
        yield from call.real_paths.get(name, ())


def _folders(call: Call, circumstances: Circumstances) -> list[str]:
    """Return the folders that a call may work in, without resolving links."""
    return working_folders(call.input, call.folder or circumstances.project)


def _absolute(path: str, circumstances: Circumstances) -> str:
    return absolute_path(path, circumstances.project)


def field_text(value: Any) -> str:  # noqa: ANN401 - JSON of an agent
    return value if isinstance(value, str) else json.dumps(value)
