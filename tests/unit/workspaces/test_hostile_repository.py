"""A repository brings programs along; Rookery's git runs none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rookery.model.errors import LandingConflict
from rookery.model.variables import OWN_GIT
from rookery.model.workspaces import WorkspaceState
from rookery.store.journal import Journal
from rookery.workspaces import landing
from rookery.workspaces.differences import worktree_difference
from rookery.workspaces.git import Git, GitPlace, disarmed, git_environment
from rookery.workspaces.inspection import open_worktree, position
from rookery.workspaces.landing import LandMethod, LandRequest
from tests.support.fakes.database import ObservedDatabase
from tests.support.repositories import (
    GitFolder,
    check_content_again,
    filter_in_repository,
)
from tests.support.workshop import Workshop

pytestmark = pytest.mark.anyio

HOOKS = (
    *("post-checkout", "pre-commit", "commit-msg", "post-commit", "prepare-commit-msg"),
    *("post-merge", "pre-merge-commit", "reference-transaction", "post-index-change"),
    *("fsmonitor-watchman", "post-rewrite", "pre-rebase"),
)


@pytest.fixture
def workshop(database: ObservedDatabase, journal: Journal, tmp_path: Path) -> Workshop:
    return Workshop(database, journal, tmp_path)


def trap(workshop: Workshop, name: str) -> str:
    """Return a program that leaves a mark when it runs."""
    program = workshop.folder / f"trap-{name}"
    program.write_text(f"#!/bin/sh\ntouch '{workshop.folder}/ran-{name}'\ncat\n")
    program.chmod(0o755)
    return str(program)


def sprung(workshop: Workshop) -> list[str]:
    return sorted(each.name for each in workshop.folder.glob("ran-*"))


def set_traps(workshop: Workshop) -> None:
    repository = workshop.repository
    repository.commit(".gitattributes", "*.txt diff=evil filter=evil merge=evil\n")
    hooks = repository.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        (hooks / name).symlink_to(trap(workshop, name))
    for key in ("core.fsmonitor", "core.pager", "core.editor", "diff.external", "gpg.program"):
        repository.git("config", key, trap(workshop, key))
    repository.git("config", "commit.gpgSign", "true")
    # Hooks in the configuration need git 2.54.
    repository.git("config", "hook.evil.command", trap(workshop, "configured hook"))
    for name in HOOKS:
        repository.git("config", "--add", "hook.evil.event", name)
    for key in ("diff.evil.textconv", "diff.evil.command"):
        repository.git("config", key, trap(workshop, key))


def set_filters(workshop: Workshop) -> None:
    for key in ("filter.evil.clean", "filter.evil.smudge", "filter.evil.process"):
        workshop.repository.git("config", key, trap(workshop, key))
    workshop.repository.git("config", "filter.evil.required", "true")
    workshop.repository.git("config", "merge.evil.driver", trap(workshop, "driver") + " %A")


@pytest.mark.spec("L1", "L2", "L3", "K5")
async def test_no_program_of_a_repository_runs(workshop: Workshop) -> None:
    set_traps(workshop)
    (workshop.folder / "ran-reset").touch()
    for mark in workshop.folder.glob("ran-*"):
        mark.unlink()
    git = workshop.worktrees.git

    async with workshop.kept():
        tree = await workshop.make("fix")
        assert sprung(workshop) == []
        (tree.path / "a.txt").write_text("changed\n")
        found = await workshop.until(await workshop.id_of("fix"), WorkspaceState.READY)
        wanted = LandRequest(name="fix", commit_message="landed", method=LandMethod.MERGE)
        prepared = await landing.prepare(git, found, wanted)
        await landing.carry_out(git, found, prepared)
        assert sprung(workshop) == []

        set_filters(workshop)
        (tree.path / "a.txt").write_text("again\n")
        (tree.path / "new.txt").write_text("new\n")
        await position(await open_worktree(git, found), found)
        shown = await worktree_difference(git, found, with_text=True)
        kept = await workshop.end("fix")

    assert "+again\n" in shown.text
    assert kept.state is WorkspaceState.KEPT
    assert sprung(workshop) == []


SIGNATURE = """gpgsig -----BEGIN PGP SIGNATURE-----
 \n iQEz
 -----END PGP SIGNATURE-----
"""


def commit_with_signature(tree: GitFolder, name: str) -> None:
    """Make a commit that has a signature, as an agent can without a key."""
    tree.commit(name, "x\n")
    headers, _, message = tree.git("cat-file", "commit", "HEAD").partition("\n\n")
    content = tree.path.parent / f"{name}-commit"
    content.write_text(f"{headers}\n{SIGNATURE}\n{message}\n")
    signed = tree.git("hash-object", "-t", "commit", "-w", str(content))
    tree.git("reset", "--quiet", "--soft", signed)


@pytest.mark.spec("L3", "K5")
@pytest.mark.parametrize("method", list(LandMethod))
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("log.showSignature", "true"),
        ("merge.verifySignatures", "true"),
        ("branch.main.mergeOptions", "--verify-signatures --squash"),
    ],
)
@pytest.mark.parametrize("has_moved", [False, True])
async def test_no_program_of_a_repository_checks_signatures(
    workshop: Workshop, method: LandMethod, key: str, value: str, *, has_moved: bool
) -> None:
    git = workshop.worktrees.git
    async with workshop.kept():
        tree = await workshop.make("fix")
        found = await workshop.until(await workshop.id_of("fix"), WorkspaceState.READY)
        for name in ("b.txt", "c.txt"):
            commit_with_signature(tree, name)
        tree.git("config", "gpg.program", trap(workshop, "gpg"))
        tree.git("config", key, value)
        if has_moved:
            workshop.repository.commit("z.txt", "z\n")

        prepared = await landing.prepare(git, found, LandRequest(name="fix", method=method))
        await landing.carry_out(git, found, prepared)

    assert (workshop.repository.path / "c.txt").read_text() == "x\n"
    assert sprung(workshop) == []


@pytest.mark.spec("L3", "K5")
async def test_a_merge_driver_of_a_repository_makes_a_conflict(workshop: Workshop) -> None:
    workshop.repository.commit(".gitattributes", "*.txt merge=evil\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
    workshop.repository.git("config", "merge.evil.driver", trap(workshop, "driver"))
    tree.commit("a.txt", "theirs\n")
    workshop.repository.commit("a.txt", "ours\n")
    found = await workshop.until(await workshop.id_of("fix"), WorkspaceState.READY)

    with pytest.raises(LandingConflict):
        await landing.prepare(workshop.worktrees.git, found, LandRequest(name="fix"))

    assert sprung(workshop) == []


@pytest.mark.spec("L2", "K5")
async def test_a_worktree_cannot_lead_git_to_another_repository(workshop: Workshop) -> None:
    async with workshop.kept():
        tree = await workshop.make("fix")
    evil = workshop.folder / "evil"
    workshop.repository.git("clone", "--quiet", "--bare", ".", str(evil))
    (tree.path / ".git").write_text(f"gitdir: {evil}\n")
    workshop.repository.at(evil).git("config", "core.bare", "false")
    found = await workshop.until(await workshop.id_of("fix"), WorkspaceState.READY)

    repository = await open_worktree(workshop.worktrees.git, found)

    assert str(evil) not in await repository.text("rev-parse", "--absolute-git-dir")


@pytest.mark.spec("K5")
def test_no_variable_leads_git_elsewhere() -> None:
    login = {
        "HOME": "/home/anna",
        "GIT_DIR": "/evil",
        "GIT_WORK_TREE": "/evil",
        "GIT_INDEX_FILE": "/evil",
        "GIT_EXTERNAL_DIFF": "/evil",
        "GIT_CONFIG_PARAMETERS": "'core.pager=evil'",
        "GIT_SSH_COMMAND": "ssh -i key",
    }

    found = git_environment(login)

    assert "/evil" not in found.values()
    assert "GIT_CONFIG_PARAMETERS" not in found
    assert (found["GIT_TERMINAL_PROMPT"], found["GIT_SSH_COMMAND"]) == ("0", "ssh -i key")


@pytest.mark.spec("K5")
def test_only_programs_that_the_repository_configures_are_left_out() -> None:
    listed = "\0".join(
        [
            *("global", "filter.crypt.clean\nmine"),
            *("local", "filter.evil.clean\nevil"),
            *("local", "filter.a=b.process\nevil"),
            *("worktree", "merge.evil.driver\nevil"),
            *("local", "filter.lfs.clean\ngit-lfs clean -- %f"),
            *("local", "filter.lfs.smudge\ngit-lfs smudge -- %f; evil"),
            *("local", "user.name\nAnna"),
            "",
        ]
    )

    filters = {"filter.evil.clean": "", "filter.a=b.process": "", "filter.lfs.smudge": ""}

    assert disarmed(listed, with_filters=True) == {"merge.evil.driver": "false"}
    assert disarmed(listed, with_filters=False) == {"merge.evil.driver": "false", **filters}


@pytest.mark.spec("L1", "K5")
async def test_programs_that_a_repository_gives_to_git_lfs_do_not_run_while_it_is_only_read(
    workshop: Workshop,
) -> None:
    programs = {
        "lfs.extension.evil.clean": "cat",
        "lfs.extension.a.b.smudge": "cat",
        "lfs.customtransfer.evil.path": "false",
        "lfs.standalonetransferagent": "",
        "lfs.https://example.org.standalonetransferagent": "",
    }
    for name in programs:
        workshop.repository.git("config", name, "evil")
    git, place = workshop.worktrees.git, GitPlace(str(workshop.repository.path))

    read, changed = await git.reading(place), await git.changing(place)

    assert {name: await read.text("config", "--get", name) for name in programs} == programs
    assert await changed.text("config", "--get", "lfs.extension.evil.clean") == "evil"


#: Programs that a repository can configure, and the value with which none of it runs.
PROGRAMS = {
    "hook.evil.command": "true",
    "hook.evil.event": "",
    "hook.a.b.enabled": "false",
    "remote.evil.uploadpack": "git-upload-pack",
    "core.sshcommand": "ssh",
    "core.askpass": "",
    "credential.helper": "",
    "credential.https://example.org.helper": "",
}


@pytest.mark.spec("L1", "K5")
@pytest.mark.parametrize("is_changing", [False, True])
async def test_programs_that_a_repository_configures_are_replaced(
    workshop: Workshop, *, is_changing: bool
) -> None:
    for name in PROGRAMS:
        workshop.repository.git("config", "--add", name, "evil")
    git, place = workshop.worktrees.git, GitPlace(str(workshop.repository.path))

    repository = await (git.changing(place) if is_changing else git.reading(place))

    found = {name: await repository.text("config", "--get", name) for name in PROGRAMS}
    assert found == PROGRAMS


@pytest.mark.spec("L1", "K5")
async def test_a_filter_whose_name_is_not_text_is_replaced(workshop: Workshop) -> None:
    config = workshop.repository.path / ".git/config"
    config.write_bytes(config.read_bytes() + b'[filter "a\xff"]\n\tclean = evil\n')
    place = GitPlace(str(workshop.repository.path))

    repository = await workshop.worktrees.git.reading(place)

    assert repository.settings == {"filter.a\udcff.clean": ""}


@pytest.mark.spec("L1", "K5")
async def test_no_program_connects_git_to_a_remote(workshop: Workshop) -> None:
    workshop.repository.git("config", "core.gitProxy", trap(workshop, "proxy"))
    place = GitPlace(str(workshop.repository.path))

    repository = await workshop.worktrees.git.changing(place)
    await repository.run("ls-remote", "git://localhost:1/x", accept=(0, 128))

    assert sprung(workshop) == []


@pytest.mark.spec("L1", "K5")
def test_hooks_that_the_user_configures_do_not_run_either() -> None:
    listed = "global\0hook.lint.event\npost-checkout\0global\0core.askpass\nmine"

    assert disarmed(listed, with_filters=True) == {"hook.lint.event": ""}


@pytest.mark.spec("K5")
async def test_what_git_runs_is_no_command_of_the_owner(workshop: Workshop) -> None:
    seen = workshop.folder / "seen"
    with (workshop.repository.home / ".gitconfig").open("a") as file:
        file.write(f'[filter "mine"]\n\tclean = printenv ROOKERY_SESSION | tee {seen}\n')
    workshop.repository.write(".gitattributes", "*.mine filter=mine\n")
    workshop.repository.write("x.mine", "x")
    place = GitPlace(str(workshop.repository.path))

    await (await workshop.worktrees.git.changing(place)).run("add", "x.mine")

    assert seen.read_text() == f"{OWN_GIT}\n"


@pytest.mark.spec("L1")
async def test_a_filter_of_the_user_is_applied(workshop: Workshop) -> None:
    repository = workshop.repository
    with (repository.home / ".gitconfig").open("a") as file:
        file.write('[filter "upper"]\n\tclean = tr A-Z a-z\n\tsmudge = tr a-z A-Z\n')
    repository.commit(".gitattributes", "*.up filter=upper\n")
    repository.commit("x.up", "SHOUT\n")
    async with workshop.kept():
        tree = await workshop.make("fix")
        removed = await workshop.end("fix")

    assert repository.git("show", "HEAD:x.up") == "shout"
    assert removed.state is WorkspaceState.REMOVED
    assert not tree.path.exists()


@pytest.mark.spec("L2", "L3", "K5")
async def test_an_unchanged_file_with_a_filter_of_the_repository_is_not_counted(
    workshop: Workshop,
) -> None:
    filter_in_repository(workshop.repository)
    check_content_again(workshop.repository)
    folder = workshop.repository.path / "secrets"
    async with workshop.kept():
        session = await workshop.request("fix", folder=folder)
        await workshop.until(session.id, WorkspaceState.READY)
        assert session.workspace
        assert session.workspace.uncommitted == 0
        tree = workshop.repository.at(session.workspace.path)
        check_content_again(tree)
        found = await workshop.workspace(session.id)
        assert found
        repository = await open_worktree(workshop.worktrees.git, found)
        assert (await position(repository, found)).dirty == 0

        removed = await workshop.end("fix")

    assert removed.state is WorkspaceState.REMOVED


@pytest.mark.spec("L2", "L3", "K5")
async def test_a_changed_file_with_a_filter_of_the_repository_is_counted(
    workshop: Workshop,
) -> None:
    filter_in_repository(workshop.repository)
    async with workshop.kept():
        tree = await workshop.make("fix")
        tree.write("secrets/secret ü.txt", "attack at dusk\n")  # of the same length
        check_content_again(tree)
        kept = await workshop.end("fix")

    assert (kept.state, kept.reason) == (
        WorkspaceState.KEPT,
        "secrets/secret ü.txt not committed",
    )


@pytest.mark.spec("L1")
async def test_a_call_of_git_ends_in_time_and_its_output_is_limited(
    workshop: Workshop,
) -> None:
    repository = await Git(workshop.worktrees.environment).reading(
        GitPlace(str(workshop.repository.path))
    )

    shown = await repository.run("show", "--no-patch", max_bytes=10)

    assert (len(shown.stdout), shown.is_cut) == (10, True)
