"""What an argument of the command line may be, told in words where it is something else."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import date


def day(text: str) -> date:
    """A market day."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text[:40]!r} is no day such as 2026-01-31") from None


def port(text: str) -> int:
    return _number(text, 0, 65_535, "port")


def count(text: str) -> int:
    return _number(text, 1, 36_600)


def requests(text: str) -> int:
    return _number(text, 0, 20_000)


def key(text: str) -> int:
    """A key's number in the accounts database."""
    return _number(text, 0, 2**63 - 1)


def quota(text: str) -> int | None:
    """Answers a day; None for the usual quota."""
    if text == "usual":
        return None
    try:
        return _number(text, 0, 10_000_000)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{error}, nor `usual`") from None


def _number(text: str, least: int, most: int, word: str = "number") -> int:
    if text.isascii() and text.isdigit() and least <= int(text) <= most:
        return int(text)
    raise ArgumentTypeError(f"{text[:40]!r} is no {word} from {least} to {most}")
