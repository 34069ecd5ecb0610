"""What is kept within a bound of bytes, and what is kept only from the second time on."""

from __future__ import annotations

from warehouse.caches import AskedBefore, LruCache


def test_memory_gives_up_what_was_unused_longest() -> None:
    memory = LruCache(30)
    for key in "abc":
        memory.get(key, lambda key=key: (key, 10))
    assert memory.get("a", lambda: ("again", 10)) == "a"
    memory.get("d", lambda: ("d", 10))
    assert memory.get("b", lambda: ("again", 10)) == "again"
    assert memory.get("a", lambda: ("again", 10)) == "a"
    assert memory.held_bytes == 30


def test_what_is_asked_for_once_pushes_nothing_out() -> None:
    memory = LruCache(30, AskedBefore().note)
    made = iter(["first", "second"])
    assert [memory.get("a", lambda: (next(made), 10)) for _ in range(3)] == ["first", "second", "second"]
    for once in range(1000):
        memory.get(once, lambda: ("once", 10))
    assert memory.get("a", lambda: ("again", 10)) == "second"
    assert memory.held_bytes == 10


def test_a_key_asked_for_long_ago_is_forgotten() -> None:
    before = AskedBefore()
    assert [before.note("a"), before.note("a")] == [False, True]
    for other in range(before.MOST - 1):
        before.note(other)
    assert before.note("a"), "so few others came since"
    for other in range(before.MOST, 3 * before.MOST):
        before.note(other)
    assert not before.note("a")
    assert before.note("a")
    assert len(before._newer) + len(before._older) <= 2 * before.MOST
