from __future__ import annotations

from rookery.model.folders import is_within


def test_a_folder_contains_itself_and_what_is_below() -> None:
    assert [is_within(each, "/code") for each in ("/code", "/code/a", "/coder")] == [
        *(True, True, False)
    ]
    assert is_within("/code", "/")
    assert not is_within("/code", "")
