"""Hooks put into real files, and taken out again: all or nothing, and every byte stays."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.agents.catalog import AGENTS
from rookery.agents.names import WITH_SETTINGS
from rookery.home import Home, find_home
from rookery.hook_setup import apply, files, plans, programs, record, settings_folders
from rookery.hook_setup.apply import AppliedChange
from rookery.hook_setup.files import Change
from rookery.hook_setup.plans import HookState, SetupPlan
from rookery.hook_setup.settings_folders import HookPlace
from rookery.model.errors import BadInput, CommandRefused, ConfigBroken
from tests.support import files as written
from tests.support.dialects import shape_of
from tests.support.paths import RECORDINGS

#: The record and the settings after an installation by an earlier version.
INSTALLED = RECORDINGS / "installed"

USERS = """{
    "model": "opus",
    "hooks": {
        "Stop": [ {"hooks": [{"type": "command", "command": "echo mine"}]} ],
        "PreToolUse": []
    },
    "env": {"A": "ä"}
}"""

TABLES = """# mine
model = "x"
[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = "true"
"""


class Setting:
    """A home of ours, and folders of agents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = find_home({"ROOKERY_HOME": str(folder / "home")})

    def place(self, agent: str) -> HookPlace:
        return settings_folders.of_folder(agent, self.folder / agent)

    def seed(self, agent: str, name: str, text: str) -> Path:
        file = self.folder / agent / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def plan(self, *agents: str, trust: bool = False, home: Home | None = None) -> SetupPlan:
        here = home or self.home
        where = [self.place(each) for each in agents]
        return plans.install(here, record.load(here), where, trust=trust)

    def install(
        self, *agents: str, trust: bool = False, home: Home | None = None
    ) -> list[AppliedChange]:
        here = home or self.home
        here.prepare()
        programs.write(here, AGENTS)
        return apply.apply_plan(here, self.plan(*agents, trust=trust, home=home))

    def uninstall(self, *agents: str) -> list[AppliedChange]:
        where = [self.place(each) for each in agents]
        return apply.apply_plan(
            self.home, plans.uninstall(self.home, record.load(self.home), where)
        )

    def look(self, agent: str, home: Home | None = None) -> HookState:
        return plans.look(home or self.home, self.place(agent))


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


@pytest.mark.spec("C1")
@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("claude", "settings.json", USERS),
        ("claude", "settings.json", USERS.replace("\n", "\r\n") + "\r\n"),
        ("claude", "settings.json", "{}"),
        ("claude", "settings.json", ""),
        ("gemini", "settings.json", '{ // mine\n  "ui": {} /* yes */\n}\n'),
        ("codex", "hooks.json", USERS.split(",\n", 1)[0].replace('"model": "opus"', "") + "}"),
        ("codex", "config.toml", TABLES),
        ("codex", "config.toml", TABLES.rstrip("\n")),
        ("codex", "config.toml", 'model = "x"'),
    ],
)
@pytest.mark.parametrize("trust", [True, False])
def test_settings_are_the_same_byte_for_byte_after_install_and_uninstall(
    setting: Setting, agent: str, name: str, text: str, *, trust: bool
) -> None:
    file = setting.seed(agent, name, text)

    setting.install(agent, trust=trust)
    standing = setting.look(agent).standing
    setting.uninstall(agent)

    assert standing == "installed"
    assert file.read_bytes() == text.encode()
    assert [each.name for each in file.parent.iterdir()] == [name]
    assert setting.look(agent).standing == "absent"


@pytest.mark.spec("C1")
@settings(max_examples=25)  # each writes and syncs about ten files
@given(st.data(), st.booleans(), st.booleans())
def test_whatever_is_written_there_is_restored_byte_for_byte(
    drawn: st.DataObject, again: bool, trust: bool
) -> None:
    agent = drawn.draw(st.sampled_from(["claude", "gemini", "codex"]))
    if agent == "codex":
        name, text = "config.toml", drawn.draw(written.as_toml())
    else:
        look = written.as_json(drawn.draw(written.settings()), comments=agent == "gemini")
        name, text = "settings.json", drawn.draw(look)
    with TemporaryDirectory() as folder:
        setting = Setting(Path(folder))
        file = setting.seed(agent, name, text)

        apply.apply_plan(setting.home, setting.plan(agent, trust=trust and not again))
        installed = file.read_bytes()
        apply.apply_plan(setting.home, setting.plan(agent, trust=trust))
        setting.uninstall(agent)

        assert installed != text.encode() or agent == "codex"
        assert file.read_bytes() == text.encode()


@pytest.mark.spec("C1")
def test_what_an_earlier_version_installed_is_removed(setting: Setting) -> None:
    """Its record has the inserted fragments, and no text to restore."""
    gemini = '{ // mine\n  "ui": {} /* yes */\n}\n'
    before = {"claude/settings.json": USERS, "gemini/settings.json": gemini}
    before["codex/config.toml"] = TABLES
    for file in ("home/installed.json", *before):
        text = (INSTALLED / file.replace("/", "-")).read_text()
        folder, _, name = file.partition("/")
        setting.seed(folder, name, text.replace("@folder@", str(setting.folder)))
    kept = list(record.load(setting.home).places())

    setting.uninstall("claude", "gemini", "codex")

    left = {file: (setting.folder / file).read_text() for file in before}
    # A list without hooks means nothing; it goes with the hook that was added to it.
    before["claude/settings.json"] = USERS.replace(',\n        "PreToolUse": []', "")
    assert kept == [setting.place(each) for each in ("claude", "gemini", "codex")]
    assert left == before
    assert record.load(setting.home).entries == {}


@pytest.mark.spec("C1")
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_settings_that_were_changed_meanwhile_only_lose_our_hooks(
    setting: Setting, agent: str
) -> None:
    name, text = ("config.toml", TABLES) if agent == "codex" else ("settings.json", USERS)
    file = setting.seed(agent, name, text)
    setting.install(agent, trust=True)
    file.write_text(file.read_text().replace('"model"', '"mine": 1,\n    "model"') + "\n")

    setting.uninstall(agent)

    without_empty_list = text.replace(',\n        "PreToolUse": []', "")
    changed = without_empty_list.replace('"model"', '"mine": 1,\n    "model"') + "\n"
    assert file.read_text() == changed


@pytest.mark.spec("C1")
def test_trust_for_a_project_is_restored_byte_for_byte_after_the_users(
    setting: Setting,
) -> None:
    file = setting.seed("user/.codex", "config.toml", 'model = "x"')
    environment = {"HOME": str(setting.folder / "user")}
    user = settings_folders.of_user("codex", environment)
    project = settings_folders.of_project("codex", setting.folder, environment)
    for place in (user, project):
        plan = plans.install(setting.home, record.load(setting.home), [place], trust=True)
        apply.apply_plan(setting.home, plan)

    texts = []
    for place in (user, project):
        plan = plans.uninstall(setting.home, record.load(setting.home), [place])
        apply.apply_plan(setting.home, plan)
        texts.append(file.read_text())

    assert str(project.folder) in texts[0]
    assert f"{user.folder}/" not in texts[0]
    assert texts[1] == 'model = "x"'


@pytest.mark.spec("C1")
def test_a_file_that_we_made_is_private_and_goes_again(setting: Setting) -> None:
    (deed,) = setting.install("claude")
    mode = stat.S_IMODE(deed.change.file.stat().st_mode)
    setting.uninstall("claude")

    assert deed.backup is None
    assert mode == 0o600
    assert not (setting.folder / "claude").exists()


def test_a_file_that_we_made_stays_if_something_was_added(setting: Setting) -> None:
    (deed,) = setting.install("claude")
    text = deed.change.file.read_text()
    deed.change.file.write_text(text.replace("{\n", '{\n  "mine": 1,\n', 1))

    setting.uninstall("claude")

    assert json.loads(deed.change.file.read_text()) == {"mine": 1}


@pytest.mark.spec("C1")
def test_what_was_there_before_is_kept_beside_our_state(setting: Setting) -> None:
    setting.seed("claude", "settings.json", USERS)

    (deed,) = setting.install("claude")

    assert deed.backup
    assert deed.backup.parent == setting.home.state / "backups"
    assert deed.backup.read_bytes() == USERS.encode()
    assert stat.S_IMODE(deed.backup.stat().st_mode) == 0o600


@pytest.mark.spec("C1")
def test_what_is_installed_is_not_installed_again(setting: Setting) -> None:
    setting.seed("claude", "settings.json", USERS)
    setting.install("claude", "codex", "gemini")

    plan = setting.plan("claude", "codex", "gemini")

    assert plan.changes == ()


@pytest.mark.spec("C1")
@pytest.mark.parametrize("agent", ["claude", "gemini", "codex"])
def test_an_older_installation_is_replaced(
    setting: Setting, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text = ("hooks.json", "{}") if agent == "codex" else ("settings.json", USERS)
    file = setting.seed(agent, name, text)
    with monkeypatch.context() as earlier:
        earlier.setattr(programs, "RUN", ("/usr/bin/python3.9", "-I"))
        setting.install(agent, trust=True)
    older = file.read_text()

    before = setting.look(agent)
    setting.install(agent, trust=True)
    after = setting.look(agent)
    newer = file.read_text()
    setting.uninstall(agent)

    assert (before.standing, after.standing) == ("outdated", "installed")
    assert after.trust in {None, "trusted"}
    assert "python3.9" in older
    assert "python3.9" not in newer
    assert file.read_text() == text
    assert [each.name for each in file.parent.iterdir()] == [name]


@pytest.mark.spec("C1")
def test_another_home_is_left_alone(setting: Setting) -> None:
    file = setting.seed("claude", "settings.json", USERS)
    other = find_home({"ROOKERY_HOME": str(setting.folder / "other")})
    setting.install("claude", home=other)
    theirs = file.read_text()

    standing = setting.look("claude").standing
    remarks = setting.plan("claude").remarks
    setting.install("claude")
    both = (setting.look("claude").standing, setting.look("claude", other).standing)
    setting.uninstall("claude")

    assert standing == "other"
    assert "Another home" in remarks[0]
    assert both == ("installed", "installed")
    assert file.read_text() == theirs


@pytest.mark.spec("C1")
@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("claude", "settings.json", '{\n  "a": 1,\n}'),
        ("claude", "settings.json", '{\n  // no comments here\n  "a": 1}'),
        ("gemini", "settings.json", '{\n  "a": 1 "b"}'),
        ("codex", "config.toml", 'a = 1\nb = "\n'),
        ("codex", "hooks.json", "{\n]"),
    ],
)
def test_what_is_broken_is_refused_by_file_and_line(
    setting: Setting, agent: str, name: str, text: str
) -> None:
    good = setting.seed("claude" if agent != "claude" else "gemini", "settings.json", "{}")
    file = setting.seed(agent, name, text)

    with pytest.raises(ConfigBroken) as refused:
        setting.install("claude", "codex", "gemini")

    assert f"{file}, line " in str(refused.value)
    assert file.read_text() == text
    assert good.read_text() == "{}"
    assert setting.look(agent).standing is None
    assert str(file) in setting.look(agent).trouble


def test_what_is_broken_without_us_does_not_keep_us_from_leaving(setting: Setting) -> None:
    setting.install("claude")
    file = setting.seed("gemini", "settings.json", "{ broken")

    setting.uninstall("gemini", "claude")

    assert file.read_text() == "{ broken"
    assert setting.look("claude").standing == "absent"


@pytest.mark.parametrize("text", [b'{"a": "\xff"}', b"\xff\xfe{}"])
def test_what_is_no_text_is_refused(setting: Setting, text: bytes) -> None:
    file = setting.seed("claude", "settings.json", "")
    file.write_bytes(text)

    with pytest.raises(ConfigBroken, match="UTF-8"):
        setting.install("claude")

    assert file.read_bytes() == text


@pytest.mark.spec("C1")
@pytest.mark.parametrize("read_only", ["claude/settings.json", "claude"])
def test_what_is_read_only_is_not_gone_round(setting: Setting, read_only: str) -> None:
    setting.seed("gemini", "settings.json", "{}")
    file = setting.seed("claude", "settings.json", USERS)
    path = setting.folder / read_only
    path.chmod(path.stat().st_mode & ~0o222)

    with pytest.raises(CommandRefused, match=f"{path} is read-only"):
        setting.install("gemini", "claude")
    path.chmod(0o755)

    assert file.read_text() == USERS
    assert (setting.folder / "gemini" / "settings.json").read_text() == "{}"


@pytest.mark.spec("C1")
def test_if_one_cannot_be_written_none_is(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = setting.seed("claude", "settings.json", USERS)
    setting.seed("gemini", "settings.json", "{}")
    plan = setting.plan("claude", "gemini")
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.parent.name == "gemini":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(CommandRefused, match="No space left on device; nothing was changed"):
        apply.apply_plan(setting.home, plan)

    assert first.read_text() == USERS
    for agent in ("claude", "gemini"):
        assert os.listdir(setting.folder / agent) == ["settings.json"]  # noqa: PTH208
    assert record.load(setting.home).entries == {}


def test_what_was_written_meanwhile_is_not_overwritten(setting: Setting) -> None:
    file = setting.seed("claude", "settings.json", USERS)
    plan = setting.plan("claude")
    file.write_text("{}")

    with pytest.raises(CommandRefused, match="meanwhile"):
        apply.apply_plan(setting.home, plan)

    assert file.read_text() == "{}"


@pytest.mark.spec("C1")
def test_a_link_stays_a_link_and_its_target_keeps_its_mode_and_owner(setting: Setting) -> None:
    target = setting.seed("dotfiles", "claude.json", USERS)
    target.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(target, 1234, 1235)
    before = target.stat()
    link = setting.folder / "claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to("../dotfiles/claude.json")

    setting.install("claude")
    after = target.stat()
    setting.uninstall("claude")

    assert link.is_symlink()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert target.read_text() == USERS
    assert [each.name for each in target.parent.iterdir()] == ["claude.json"]


def test_what_is_no_file_is_refused(setting: Setting) -> None:
    (setting.folder / "claude" / "settings.json").mkdir(parents=True)

    with pytest.raises(CommandRefused, match="is not a file"):
        setting.install("claude")


@pytest.mark.spec("C1")
def test_the_difference_is_shown(setting: Setting) -> None:
    file = setting.seed("claude", "settings.json", '{\n  "a": 1\n}')

    (change,) = setting.plan("claude").changes

    lines = change.difference.splitlines()
    assert lines[:2] == [f"--- {file}", f"+++ {file}"]
    assert lines[3:7] == [" {", '-  "a": 1', '+  "a": 1,', '+  "hooks": {']
    assert lines[-1] == "\\ No newline at end of file"
    assert file.read_text() == '{\n  "a": 1\n}'


@pytest.mark.spec("C1")
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
@pytest.mark.parametrize("text", ["", '{"a":1}', '{\n  "a": 1\n}\n'])
def test_hooks_are_counted_as_they_come_and_go(setting: Setting, agent: str, text: str) -> None:
    name = "hooks.json" if agent == "codex" else "settings.json"
    file = setting.seed(agent, name, text)

    (change,) = setting.plan(agent).changes

    back = Change(agent, file, change.after, change.before)
    number = len(shape_of(agent).timeouts)
    assert (change.hooks, back.hooks) == (number, -number)


@pytest.mark.spec("C1")
def test_with_less_around_it_the_difference_is_the_same(setting: Setting) -> None:
    lines = "".join(f'  "{number}": {number},\n' for number in range(9))
    setting.seed("claude", "settings.json", f'{{\n{lines}  "a": 1\n}}')

    (change,) = setting.plan("claude").changes

    whole, short = change.difference.splitlines(), change.with_context(1).splitlines()
    changed = [[each for each in shown if each[0] in "+-"] for shown in (whole, short)]
    assert changed[0] == changed[1]
    assert len(short) == len(whole) - 2


@pytest.mark.spec("C1")
def test_codex_keeps_its_hooks_in_one_file(setting: Setting) -> None:
    """In the file where its user has them; in one of their own, if there are none."""
    (alone,) = setting.install("codex")
    setting.uninstall("codex")
    setting.seed("codex", "config.toml", TABLES)
    (beside,) = setting.install("codex")
    setting.seed("codex", "hooks.json", '{"hooks": {"Stop": [{"hooks": [{}]}]}}')
    plan = setting.plan("codex")

    assert alone.change.file.name == "hooks.json"
    assert beside.change.file.name == "config.toml"
    assert plan.changes == ()


@pytest.mark.spec("C1")
def test_codex_is_told_of_trust_only_on_request(setting: Setting) -> None:
    setting.seed("codex", "config.toml", 'model = "x"\n')
    setting.install("codex")
    untrusted = setting.look("codex")
    setting.install("codex", trust=True)
    trusted = setting.look("codex")
    hooks = setting.folder / "codex" / "hooks.json"
    hooks.write_text(hooks.read_text().replace('"timeout": 20', '"timeout": 21'))
    changed = setting.look("codex")

    assert (untrusted.standing, untrusted.trust) == ("installed", "untrusted")
    assert (trusted.standing, trusted.trust) == ("installed", "trusted")
    assert (changed.standing, changed.trust) == ("outdated", "changed")


@pytest.mark.spec("C1")
def test_what_codex_itself_wrote_of_trust_goes_with_our_hooks(setting: Setting) -> None:
    file = setting.seed("codex", "config.toml", 'model = "x"\n')
    setting.install("codex")
    key = f"{setting.folder}/codex/hooks.json:stop:0:0"
    file.write_text(
        'model = "x"\n\n[hooks.state]\n'
        f'\n[hooks.state."{key}"]\ntrusted_hash = "sha256:1"\n'
        '\n[projects."/p"]\ntrust_level = "trusted"\n'
    )

    setting.uninstall("codex")

    assert file.read_text() == 'model = "x"\n\n[projects."/p"]\ntrust_level = "trusted"\n'


def test_it_is_said_if_codex_will_ask_about_other_hooks(setting: Setting) -> None:
    setting.seed("codex", "config.toml", TABLES)
    setting.install("codex")
    file = setting.folder / "codex" / "config.toml"
    file.write_text(file.read_text() + TABLES.split("\n", 2)[2])

    where = [setting.place("codex")]
    plan = plans.uninstall(setting.home, record.load(setting.home), where)

    assert "Codex will ask" in plan.remarks[0]


def test_trust_names_a_file_as_codex_does_that_follows_links_to_its_folder(
    setting: Setting,
) -> None:
    (setting.folder / "real").mkdir()
    (setting.folder / "codex").symlink_to("real")

    setting.install("codex", trust=True)

    said = (setting.folder / "codex" / "config.toml").read_text()
    assert f'"{setting.folder}/codex/hooks.json:stop:0:0"' in said
    assert f'"{setting.folder}/real/hooks.json:stop:0:0"' in said
    assert setting.look("codex").trust == "trusted"


@pytest.mark.spec("C1")
def test_places_are_found_by_what_the_agents_themselves_look_at(tmp_path: Path) -> None:
    environment = {
        "HOME": "/h",
        "CLAUDE_CONFIG_DIR": "/c",
        "CODEX_HOME": "/x",
        "GEMINI_CLI_HOME": "/g",
        "XDG_CONFIG_HOME": "/o",
    }

    def folders(known: dict[str, str]) -> list[str]:
        agents = ("claude", "codex", "gemini", "opencode")
        return [str(settings_folders.of_user(each, known).folder) for each in agents]

    assert folders({"HOME": "/h"}) == [
        "/h/.claude",
        "/h/.codex",
        "/h/.gemini",
        "/h/.config/opencode",
    ]
    assert folders(environment) == ["/c", "/x", "/g/.gemini", "/o/opencode"]


@pytest.mark.spec("C1")
def test_in_a_project_it_is_the_file_that_is_not_shared(setting: Setting) -> None:
    environment = {"HOME": str(setting.folder / "user")}
    claude = settings_folders.of_project("claude", setting.folder, environment)
    codex = settings_folders.of_project("codex", setting.folder, environment)

    plan = plans.install(setting.home, record.load(setting.home), [claude, codex], trust=True)
    apply.apply_plan(setting.home, plan)
    programs.write(setting.home, AGENTS)
    states = [plans.look(setting.home, place) for place in (claude, codex)]
    known = record.load(setting.home)
    undone = plans.uninstall(setting.home, known, list(known.places()))
    apply.apply_plan(setting.home, undone)

    assert [str(each.file.relative_to(setting.folder)) for each in plan.changes] == [
        ".claude/settings.local.json",
        ".codex/hooks.json",
        "user/.codex/config.toml",
    ]
    assert [each.standing for each in states] == ["installed", "installed"]
    assert states[1].trust == "trusted"
    assert sorted(each.name for each in setting.folder.iterdir()) == ["home"]


@pytest.mark.spec("C1")
def test_without_its_record_an_installation_is_known_by_itself(setting: Setting) -> None:
    file = setting.seed("claude", "settings.json", '{\n  "a": 1\n}\n')
    setting.install("claude")
    (setting.home.state / "installed.json").write_text("broken")

    setting.uninstall("claude")

    assert file.read_text() == '{\n  "a": 1\n}\n'


@pytest.mark.spec("C1")
def test_hooks_whose_program_is_gone_are_outdated(setting: Setting) -> None:
    setting.install("claude")
    programs.script_path(setting.home).unlink()

    assert setting.look("claude").standing == "outdated"


def test_a_home_whose_name_cannot_be_written_is_refused(setting: Setting) -> None:
    home = find_home({"ROOKERY_HOME": str(setting.folder / "h\udcff")})

    with pytest.raises(BadInput, match="UTF-8"):
        setting.plan("claude", home=home)


def test_a_file_that_is_ours_as_a_whole(setting: Setting) -> None:
    file = setting.folder / "opencode" / "plugin" / "rookery.js"

    setting.install("opencode")
    standing = setting.look("opencode").standing
    said = file.read_text()
    setting.uninstall("opencode")

    assert standing == "installed"
    assert json.dumps([*programs.hook_argv(setting.home), "opencode"]) in said
    assert not (setting.folder / "opencode").exists()


def test_a_file_of_somebody_else_is_not_overwritten(setting: Setting) -> None:
    file = setting.seed("opencode", "plugin/rookery.js", "mine()\n")

    with pytest.raises(CommandRefused, match="another program"):
        setting.install("opencode")
    setting.uninstall("opencode")

    assert file.read_text() == "mine()\n"


def test_hooks_of_an_agent_that_a_later_version_knows_are_left_alone(setting: Setting) -> None:
    later = record.InstalledFile("later", str(setting.folder), str(setting.folder))
    kept = record.InstallRecord({setting.folder / "settings.json": later})

    assert list(kept.places()) == []


def test_the_folders_to_be_made_are_known_the_innermost_first(tmp_path: Path) -> None:
    found = files.missing_folders(tmp_path / "a" / "b" / "c.json")

    assert found == (tmp_path / "a" / "b", tmp_path / "a")


@pytest.mark.spec("C1", "K1")
@pytest.mark.parametrize(
    "agent", [each for each in WITH_SETTINGS if settings_folders.has_project_settings(each)]
)
@pytest.mark.parametrize("way", ["file", "new", "folder"])
def test_a_link_that_leads_out_of_a_project_is_refused(
    setting: Setting, agent: str, way: str
) -> None:
    project, victim = setting.folder / "project", setting.folder / "victim"
    project.mkdir()
    (victim / "plugin").mkdir(parents=True)
    place = settings_folders.of_project(agent, project, {"HOME": str(setting.folder / "user")})
    named = place.plugin or place.files[0][0]
    if way == "folder":
        place.folder.symlink_to(victim)
    else:
        named.parent.mkdir(parents=True)
        target = victim / ("new/autostart.json" if way == "new" else "other.json")
        if way == "file":
            target.write_text("{}")
        named.symlink_to(target)
    before = sorted(victim.rglob("*"))

    with pytest.raises(
        CommandRefused, match=r"is a link to .*victim.*, outside of the project"
    ):
        plans.install(setting.home, record.load(setting.home), [place], trust=False)

    assert sorted(victim.rglob("*")) == before


@pytest.mark.spec("C1")
def test_a_link_that_stays_in_a_project_is_followed(setting: Setting) -> None:
    project = setting.folder / "project"
    (project / ".claude").mkdir(parents=True)
    (project / "kept.json").write_text("{}")
    (project / ".claude" / "settings.local.json").symlink_to(project / "kept.json")
    place = settings_folders.of_project(
        "claude", project, {"HOME": str(setting.folder / "user")}
    )

    plan = plans.install(setting.home, record.load(setting.home), [place], trust=False)
    apply.apply_plan(setting.home, plan)

    assert plan.changes[0].link == project / "kept.json"
    assert "hooks" in (project / "kept.json").read_text()


@pytest.mark.spec("C1")
def test_a_link_that_is_changed_before_it_is_agreed_to_is_refused(setting: Setting) -> None:
    project = setting.folder / "project"
    named = project / ".claude" / "settings.local.json"
    named.parent.mkdir(parents=True)
    for name in ("kept.json", "other.json"):
        (project / name).write_text("{}")
    named.symlink_to(project / "kept.json")
    place = settings_folders.of_project(
        "claude", project, {"HOME": str(setting.folder / "user")}
    )
    plan = plans.install(setting.home, record.load(setting.home), [place], trust=False)

    named.unlink()
    named.symlink_to(project / "other.json")

    with pytest.raises(CommandRefused, match="changed meanwhile"):
        apply.apply_plan(setting.home, plan)
    assert (project / "other.json").read_text() == "{}"


@pytest.mark.spec("C1")
def test_a_file_that_codex_ignores_is_not_said_to_be_installed(setting: Setting) -> None:
    setting.install("codex", trust=True)
    file = setting.folder / "codex" / "hooks.json"
    written = json.loads(file.read_text())
    before = setting.look("codex")

    file.write_text(json.dumps({**written, "description": "mine"}))
    described = setting.look("codex")
    file.write_text(json.dumps({**written, "version": 1}))
    ignored = setting.look("codex")

    assert (before.standing, described.standing) == ("installed", "installed")
    assert (ignored.standing, ignored.trust) == (None, None)
    assert "Codex ignores this file: it does not know the key 'version'." in ignored.trouble
    assert "Codex ignores this file" in setting.plan("codex").remarks[0]
    setting.uninstall("codex")
    assert json.loads(file.read_text()) == {"version": 1}
