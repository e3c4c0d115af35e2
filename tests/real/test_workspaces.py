"""Worktrees of sessions with the real daemon, the real command line and the real git."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rookery.processes import Process
from tests.support.real.agents import configure
from tests.support.real.rookery import Rookery, eventually
from tests.support.repositories import GitFolder, make_repository
from tests.support.scripted_model.server import ModelServer


@pytest.fixture
def repository(cold: Rookery) -> GitFolder:
    """Give a repository in the project folder of a home whose daemon does not run yet."""
    return make_repository(cold.project, cold.folder)


def settings(**tables: object) -> str:
    lines = ["[workspaces]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in tables.items()]
    return "\n".join(lines) + "\n"


def workspaces(rookery: Rookery) -> list[dict[str, object]]:
    found: list[dict[str, object]] = rookery.json("workspace", "ls")["workspaces"]
    return found


@pytest.mark.spec("L1", "L2", "L3")
def test_a_day_of_a_session_in_a_worktree(cold: Rookery, repository: GitFolder) -> None:
    repository.write("a.txt", "not committed\n")
    repository.git("stash")
    repository.write("notes.txt", "mine\n")
    cold.up()

    started = cold.run("start", "--agent", "demo", "--name", "fix", "--worktree", "--wait")
    session = cold.session("fix")
    tree = repository.at(session["workspace"]["path"])
    tree.write("new.txt", "work\n")
    shown = cold.run("diff", "fix")
    listed = cold.run("workspace", "ls").stdout
    details = cold.run("show", "fix").stdout
    refused = cold.run("land", "fix")
    landed = cold.run("land", "fix", "--commit", "Add new")
    tree.write("more.txt", "work\n")
    ended = cold.run("end", "fix")
    kept = cold.run("workspace", "ls").stdout
    pruned = cold.run("workspace", "prune", "--force", "fix")

    assert "on branch rookery/fix, from main" in started.stderr
    assert "1 uncommitted change here stays behind." in started.stderr
    assert session["project_path"] == str(tree.path)
    assert "+work\n" in shown.stdout
    assert "1 file on rookery/fix, since main" in shown.stderr
    assert "rookery/fix" in listed
    assert "in use" in listed
    assert "1 dirty, compared with main" in details
    assert refused.returncode == 1
    assert "has not committed new.txt" in refused.stderr
    assert "Landed 1 commit of fix in main" in landed.stdout
    assert (repository.path / "new.txt").read_text() == "work\n"
    assert "Its worktree is kept in" in ended.stdout
    assert "kept: more.txt not committed" in kept
    assert "Removed" in pruned.stdout
    assert repository.branches() == ["main"]
    assert not tree.path.exists()


@pytest.mark.spec("L1")
def test_text_after_the_option_is_a_prompt_if_it_cannot_be_a_branch(
    cold: Rookery, repository: GitFolder
) -> None:
    cold.up()

    cold.run("start", "--agent", "demo", "--name", "one", "--worktree", "say: Hello there")
    cold.run("start", "--agent", "demo", "--name", "two", "--worktree", "feature", "say: Hi")

    assert cold.session("one")["first_prompt"] == "say: Hello there"
    assert cold.session("one")["workspace"]["branch"] == "rookery/one"
    assert cold.session("two")["workspace"]["branch"] == "feature"
    assert "main" in repository.branches()


@pytest.mark.spec("L1")
def test_a_folder_outside_of_git_is_refused_in_words(rookery: Rookery) -> None:
    done = rookery.run("start", "--agent", "demo", "--worktree")

    assert done.returncode == 1
    assert "is not in a git repository" in done.stderr
    assert rookery.json("ls")["sessions"] == []


@pytest.mark.spec("L1", "K3")
def test_a_set_up_that_outlives_its_daemon_is_ended_and_begun_again(
    cold: Rookery, repository: GitFolder
) -> None:
    flag, pids = cold.folder / "flag", cold.folder / "pids"
    script = f"echo $$ >> {pids}; test -e {flag} || exec sleep 600"
    cold.configure(settings(setup=["sh", "-c", script]))
    cold.up()
    cold.client.post(
        "sessions", agent="demo", name="fix", project=str(repository.path), worktree=True
    )
    eventually(lambda: pids.exists() and pids.read_text().endswith("\n"))
    assert cold.session("fix")["reason"].startswith("runs sh -c")

    cold.kill()
    flag.touch()
    cold.up()

    first, second = eventually_two(pids)
    assert Process.of(first) is None
    cold.client.get("sessions", "fix", "wait", until="up", timeout=40)
    assert first != second
    tree = repository.at(cold.session("fix")["workspace"]["path"])
    assert tree.git("status", "--porcelain") == ""


@pytest.mark.spec("L1", "A3")
def test_a_set_up_that_fails_is_said(cold: Rookery, repository: GitFolder) -> None:
    root = cold.folder / "my worktrees"
    setup = ["sh", "-c", "pwd >&2; echo no network >&2; exit 7"]
    cold.configure(settings(setup=setup, root=str(root)))
    cold.up()

    done = cold.run("start", "--agent", "demo", "--name", "fix", "--worktree", "--wait")

    assert done.returncode == 1
    assert "the set-up command sh exited with 7." in done.stdout
    reason = cold.session("fix")["reason"]
    assert f"{root}/" in reason
    assert reason.endswith("no network")
    eventually(lambda: repository.branches() == ["main"])


@pytest.mark.spec("L1", "L3", "K3")
def test_a_daemon_that_dies_after_the_end_still_removes_the_worktree(
    cold: Rookery, repository: GitFolder
) -> None:
    cold.up()
    cold.start("fix", worktree=True)
    path = Path(cold.session("fix")["workspace"]["path"])
    cold.client.post("sessions", "fix", "end")
    cold.kill()

    cold.up()

    eventually(lambda: not path.exists() and repository.branches() == ["main"])
    assert workspaces(cold) == []


@pytest.mark.spec("L3")
def test_a_conflict_is_said_and_both_sides_stay_whole(
    cold: Rookery, repository: GitFolder
) -> None:
    cold.up()
    cold.start("fix", worktree=True)
    tree = repository.at(cold.session("fix")["workspace"]["path"])
    theirs = tree.commit("a.txt", "theirs\n")
    ours = repository.commit("a.txt", "ours\n")

    done = cold.run("land", "fix")

    assert done.returncode == 1
    assert "both sides changed the same lines: a.txt." in done.stderr
    assert repository.git("rev-parse", "main") == ours
    assert tree.git("rev-parse", "HEAD") == theirs
    assert repository.git("status", "--porcelain") == ""


@pytest.mark.spec("L4")
def test_two_sessions_that_change_a_file_are_shown_and_told(
    cold: Rookery, repository: GitFolder
) -> None:
    told = cold.folder / "told"
    program = cold.folder / "tell"
    program.write_text(f"#!/bin/sh\ncat >> {told}\n")
    program.chmod(0o755)
    notify = (
        f'[notifications]\nbatch_seconds = 0\n[notifications.command]\nrun = ["{program}"]\n'
    )
    cold.configure(settings(tell_agents=True) + notify + 'kinds = ["overlap"]\n')
    cold.up()
    cold.start("one", worktree=True)
    cold.start("two")

    cold.ask("one", "tool: Edit a.txt;; say: done")
    cold.ask("two", f"tool: Write {repository.path}/a.txt;; say: done")

    cold.environment["COLUMNS"] = "200"
    assert "one also changed a.txt" in cold.run("ls").stdout
    overlaps = cold.json("ls")["overlaps"]
    assert sorted(overlaps.values()) == ["one also changed a.txt", "two also changed a.txt"]
    eventually(lambda: told.exists() and told.read_text())
    assert json.loads(told.read_text())["kind"] == "overlap"
    eventually(lambda: "has also changed a.txt" in cold.run("output", "one").stdout)


def eventually_two(file: Path) -> tuple[int, int]:
    eventually(lambda: len(file.read_text().split()) == 2)
    first, second = file.read_text().split()
    return int(first), int(second)


@pytest.mark.spec("L1", "L3", "L4")
def test_claude_and_codex_work_in_worktrees_of_one_repository(
    cold: Rookery, models: ModelServer
) -> None:
    configure(cold, models.url)
    repository = make_repository(cold.project, cold.folder)
    cold.up()
    mode = {"claude": "acceptEdits", "codex": ""}
    for agent in ("claude", "codex"):
        cold.start(agent, agent=agent, worktree=True, permission_mode=mode[agent])

    for agent in ("claude", "codex"):
        path = cold.session(agent)["workspace"]["path"]
        assert cold.ask(agent, f"write: {path}/new.txt by {agent};; say: done") == "done"

    overlaps = cold.json("ls")["overlaps"]
    landed = cold.json("land", "claude", "--commit", "Add new")
    refused = cold.run("land", "codex", "--commit", "Add new, too")
    assert sorted(overlaps.values()) == [
        "claude also changed new.txt",
        "codex also changed new.txt",
    ]
    assert landed["committed"] == ["new.txt"]
    assert (repository.path / "new.txt").read_text().strip() == "by claude"
    assert "both sides changed the same lines: new.txt." in refused.stderr


@pytest.mark.spec("L3", "A10")
@pytest.mark.parametrize("agent", ["demo", "claude"])
def test_a_conversation_goes_on_in_the_worktree_that_was_removed_at_its_end(
    cold: Rookery, models: ModelServer, agent: str
) -> None:
    configure(cold, models.url)
    make_repository(cold.project, cold.folder)
    cold.up()
    cold.start("fix", agent=agent, worktree=True)
    assert cold.ask("fix", "say: first") == "first"
    path = Path(cold.session("fix")["workspace"]["path"])

    ended = cold.run("end", "fix")
    assert not path.exists()
    resumed = cold.run("resume", "fix", "--wait", "say: second")

    assert "`rookery resume fix` makes it again" in ended.stdout
    assert resumed.stdout.startswith("second\n")
    assert cold.session("fix")["project_path"] == str(path)
    assert (path / "a.txt").exists()
