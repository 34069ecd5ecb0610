"""Test the cache with a limit in bytes: it evicts the least recently used value."""

from __future__ import annotations

from warehouse.caches import LruCache


def test_memory_gives_up_what_was_unused_longest() -> None:
    memory = LruCache(30)
    for key in "abc":
        memory.get(key, lambda key=key: (key, 10))
    assert memory.get("a", lambda: ("again", 10)) == "a"
    memory.get("d", lambda: ("d", 10))
    assert memory.get("b", lambda: ("again", 10)) == "again"
    assert memory.get("a", lambda: ("again", 10)) == "a"
    assert memory.held_bytes == 30
