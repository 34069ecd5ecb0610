"""A month file may be replaced between finding and reading it: then it is found again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from warehouse.errors import StorageError

Answer = TypeVar("Answer")
Question = ParamSpec("Question")


class FileReplaced(StorageError):
    """A month file was replaced between finding and reading it: find it again."""


def read_again(read: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """Call a function once more each time that it met a replaced file."""

    @wraps(read)
    def reading(*args: Question.args, **kwargs: Question.kwargs) -> Answer:
        while True:
            try:
                return read(*args, **kwargs)
            except FileReplaced:
                continue

    return reading
