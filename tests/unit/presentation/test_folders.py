from __future__ import annotations

import pytest

from rookery.presentation.folders import short_folders, with_tilde

pytestmark = pytest.mark.spec("I5")

HOME = "/home/anna"


@pytest.mark.parametrize(
    ("folders", "short"),
    [
        (["/home/anna/work/web", "/home/anna/work/api"], ["web", "api"]),
        (["/home/anna/work", "/home/anna/work/api"], ["work", "work/api"]),
        (["/home/anna/web", "/home/anna/api"], ["web", "api"]),
        (["/home/anna/work/web"], ["web"]),
        (["/home/anna/work/web", "/srv/www/api"], ["…/web", "…/api"]),
        (
            ["/home/anna/old/web", "/home/anna/new/web", "/srv/web"],
            ["~/old/web", "~/new/web", "/srv/web"],
        ),
        (["/repo", "/srv"], ["/repo", "/srv"]),
        (["/home/anna", "/srv/x"], ["~", "/srv/x"]),
        (["relative", "/srv/x"], ["relative", "/srv/x"]),
        (["/srv/long/web", "/opt/srv/long/web"], ["/srv/long/web", "/opt/srv/long/web"]),
        ([""], []),
    ],
)
def test_folders_are_short_and_differ(folders: list[str], short: list[str]) -> None:
    shown = short_folders(folders, HOME)

    assert [shown[each] for each in folders if each] == short


def test_only_ones_own_home_becomes_a_tilde() -> None:
    assert with_tilde("/home/anna/repo", HOME) == "~/repo"
    assert with_tilde("/home/annabel", HOME) == "/home/annabel"
    assert with_tilde("/x", "") == "/x"
