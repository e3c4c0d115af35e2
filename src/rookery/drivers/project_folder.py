"""Find the folder that agents trust as a whole: the main working tree of a repository."""

from __future__ import annotations

from pathlib import Path

_GIT_LINK = "gitdir:"


def project_of(folder: Path) -> Path:
    """Return the main working tree that a folder belongs to, or the folder itself.

    Raises ``OSError`` or ``ValueError`` if that cannot be read.
    """
    for each in (folder, *folder.parents):
        git = each / ".git"
        if git.is_dir():
            return each
        if git.is_file():
            return _main_of(git) or each
    return folder


def _main_of(link: Path) -> Path | None:
    """Return the main working tree of a linked one; ``None`` unless each refers to the other.

    Any repository may contain a file that claims to be a link to a trusted one.
    """
    text = link.read_text(encoding="utf-8", errors="replace").strip()
    own = Path(link.parent, text.removeprefix(_GIT_LINK).strip())
    if not text.startswith(_GIT_LINK) or own.parent.name != "worktrees":
        return None
    back = Path(own, (own / "gitdir").read_text(encoding="utf-8").strip())
    is_mutual = back.resolve() == link.resolve() and own.parents[1].name == ".git"
    return own.parents[2].resolve() if is_mutual else None
