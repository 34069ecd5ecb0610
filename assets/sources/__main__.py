"""Parse a saved response by hand, or add generating units to the table behind the Australian mix.

`python -m assets.sources parse FEED FILE [--zone Z] [--day D] [--answered-at SECONDS]` prints the rows of a response as
CSV. With `--answered-at`, it validates the rows as a run does, prints the valid ones, and writes findings to stderr.
The exit code is 0 with rows, and 2 for a response without rows or for wrong usage, with one line on stderr.

`python -m assets.sources units FILE` adds the units of AEMO's CO2EII_AVAILABLE_GENERATORS.CSV to the table of units of
`aemo.mix`. It prints the added units and the lines that need a check. Then restart emds and rebuild the days without a
mix.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TextIO

from assets.sources import codes, feed
from warehouse.errors import CallerError, MarketError
from warehouse.judge.quality import judge
from warehouse.market.clock import days_of
from warehouse.market.feeds import Feed, Request
from warehouse.rows.forecasts import date_by_answer
from warehouse.rows.schema import Rows

COLUMNS = (
    *("metric", "zone", "fuel", "counterparty", "ts", "value", "unit", "resolution", "published_at", "basis"),
    *("low", "high", "factors"),
)


def write_rows(rows: Rows, out: TextIO) -> None:
    """Write canonical rows as CSV in canonical order, floats in full, empty cells for what does not apply."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([getattr(row, name) for name in COLUMNS] for row in rows.sorted())


def request_for(feed: Feed, file: Path, zone: str | None, days: tuple[date, ...]) -> Request:
    """Return the request that `file` contains the response to. Raises CallerError for a zone outside the feed."""
    if zone is not None and zone not in feed.zones:
        raise CallerError(f"{feed.id} covers {', '.join(feed.zones)}, not {zone}")
    return Request(feed.id, file.resolve().as_uri(), days=days, zone=zone, ext=file.suffix.lstrip("."))


def _feed(feed_id: str) -> Feed:
    try:
        return feed(feed_id)
    except KeyError:
        raise CallerError(f"unknown feed {feed_id!r}; sources are {', '.join(codes())}") from None


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    # Without a usage text, argparse reports wrong use in one line.
    parser = argparse.ArgumentParser(
        "assets.sources",
        usage=argparse.SUPPRESS,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, prog="assets.sources")
    verb = verbs.add_parser("parse", usage=argparse.SUPPRESS, help="print the rows of a saved response as CSV")
    verb.add_argument("feed", help="feed ID, for example aemo.dispatch")
    verb.add_argument("file", type=Path, help="saved response of the publisher")
    verb.add_argument("--zone", help="zone, if the response does not contain it")
    verb.add_argument(
        "--day", type=days_of, default=(), help="date, if the response does not contain it: YYYY, YYYY-MM or YYYY-MM-DD"
    )
    verb.add_argument("--answered-at", type=int, help="time of the response in Unix seconds, to validate the rows")
    verb.set_defaults(run=_parse)
    units = verbs.add_parser("units", usage=argparse.SUPPRESS, help="add AEMO's units to the table of units")
    units.add_argument("file", type=Path, help="CO2EII_AVAILABLE_GENERATORS.CSV")
    units.set_defaults(run=_units)
    return parser.parse_args(argv)


def _parse(args: argparse.Namespace) -> int:
    product = _feed(args.feed)
    request = request_for(product, args.file, args.zone, args.day)
    rows = product.parse(args.file.read_bytes(), request)
    if args.answered_at is not None:
        rows = date_by_answer(rows, args.answered_at)
        judgement = judge(rows, product, (), args.answered_at, request.days)
        rows = judgement.accepted
        for finding in judgement.findings:
            parts = (finding.severity, finding.check, finding.zone, finding.metric, finding.count, finding.detail)
            print(*filter(None, parts), file=sys.stderr)  # noqa: T201  the command's own answer
    write_rows(rows, sys.stdout)
    return 0


def _units(args: argparse.Namespace) -> int:
    from assets.sources.aemo import units  # `parse` of other sources does not need it

    renewal = units.renew(units.known_units(), args.file.read_bytes())
    units.TABLE.write_text(units.encode(renewal.units))
    added = (f"{duid} {renewal.units[duid].describe()}" for duid in renewal.added)
    for line in (*added, *renewal.notes, f"{len(renewal.added)} units added, {len(renewal.units)} in the table"):
        print(line)  # noqa: T201  the command's own answer
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    try:
        args = _arguments(argv)
        return int(args.run(args))
    except (MarketError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201  the command's own answer
        return 2


if __name__ == "__main__":
    sys.exit(main())
