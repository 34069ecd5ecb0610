"""Retry a read if a monthly file is replaced between finding and reading it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from warehouse.errors import StorageError

Answer = TypeVar("Answer")
Question = ParamSpec("Question")


class FileReplaced(StorageError):
    """A monthly file was replaced between finding and reading it. Find it again."""


def read_again(read: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """Return a function that repeats `read` as long as it raises FileReplaced."""

    @wraps(read)
    def reading(*args: Question.args, **kwargs: Question.kwargs) -> Answer:
        while True:
            try:
                return read(*args, **kwargs)
            except FileReplaced:
                continue

    return reading
