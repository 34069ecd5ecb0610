"""Every path, asked in hundreds of ways: two workers give the same bytes and headers, and their ETags hold."""

from __future__ import annotations

from pathlib import Path

from tests.api.conftest import Rig
from tests.api.same_answers import compare, numbered, record


def test_two_workers_give_the_same_answers(shared_everywhere: Rig, tmp_path: Path) -> None:
    scratches = tmp_path / "one", tmp_path / "other"
    for scratch in scratches:
        scratch.mkdir()
    one, other = (numbered(record(shared_everywhere.home, scratch)) for scratch in scratches)
    assert len(one) > 2500
    assert compare(one, other) == []
    assert [name for name, answer in one.items() if answer.status >= 500] == []
    again = {name: answer for name, answer in one.items() if " again #" in name}
    assert len(again) > 900
    assert {answer.status for answer in again.values()} == {304}
    assert not any(answer.body for answer in again.values())
