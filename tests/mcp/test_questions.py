"""Check that the tools suffice for sixteen typical questions of agents, with the token counts of docs/mcp.md.

A reader of the texts and a reader of the structures each solve every question. The solution is computed from the
warehouse's Parquet files, in plain Python and without the service. docs/mcp.md lists the calls and tokens of each.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.mcp.markets import NOW
from tests.mcp.reading import at, read_table, rows_of, tokens
from warehouse.market.clock import DAY, HOUR, instant, iso

Texts, Structures = list[str], list[dict[str, Any]]
QUARTER = 900
TODAY, TOMORROW = instant("2026-03-29T22:00:00Z"), instant("2026-03-30T22:00:00Z")
"""Midnight of 30 and 31 March in most of Europe."""


PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text()


class Files:
    """The warehouse's Parquet files, read without code of this project."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def rows(self, metric: str, zone: str, start: int = 0, end: int = 1 << 40) -> list[tuple[int, float]]:
        """Return (ts, value) in `[start, end)`, in ascending order."""
        return [(ts, value) for ts, value, _ in self.by_fuel(metric, zone, start, end)]

    def by_fuel(self, metric: str, zone: str, start: int = 0, end: int = 1 << 40) -> list[tuple[int, float, str]]:
        files = sorted((self.home / "series" / f"metric={metric}" / f"zone={zone}").glob("*.parquet"))
        rows = [row for file in files for row in pq.ParquetFile(file).read(["ts", "value", "fuel"]).to_pylist()]
        return sorted((row["ts"], row["value"], row["fuel"]) for row in rows if start <= row["ts"] < end)

    def now(self, metric: str, zone: str) -> float:
        return self.rows(metric, zone, end=NOW)[-1][1]

    def zones(self, metric: str) -> list[str]:
        return sorted(path.name.removeprefix("zone=") for path in (self.home / "series" / f"metric={metric}").iterdir())


@dataclass(frozen=True)
class Question:
    words: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    """The calls that solve the question. Further calls are not allowed."""
    from_texts: Callable[[Texts], Any]
    from_structures: Callable[[Structures], Any]
    truth: Callable[[Files], Any]


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.M)
    assert match, f"{pattern} in {text}"
    return match[1]


def by_zone(text: str) -> dict[str, float]:
    """Return the values in a snapshot's text, by zone."""
    figures = text.partition("Source:")[0]
    return {
        zone: float(value)
        for zone, value in re.findall(r"([A-Z]{2}[-A-Z0-9]*) (-?[\d.]+)(?: p\d+)?(?=,|;|\n)", figures)
    }


def by_zone_of(structure: dict[str, Any]) -> dict[str, float]:
    return {zone: value for of in structure["values"] for zone, value in zip(of["zone"], of["value"], strict=True)}


def lowest(known: dict[int, float], hours: int) -> str:
    """Return the start of the cheapest block of `hours` among quarter-hourly prices."""
    need = hours * 4
    starts = [ts for ts in sorted(known) if all(ts + i * QUARTER in known for i in range(need))]
    return iso(min(starts, key=lambda ts: round(sum(known[ts + i * QUARTER] for i in range(need)), 6)))


def ahead(files: Files, zone: str) -> dict[int, float]:
    """Return prices by time, from the current interval onwards."""
    return dict(files.rows("price", zone, NOW - NOW % QUARTER))


def spans_below(rows: list[tuple[int, float]], limit: float) -> list[tuple[str, str]]:
    spans: list[list[int]] = []
    for ts, value in rows:
        if value < limit:
            if spans and spans[-1][1] == ts:
                spans[-1][1] = ts + QUARTER
            else:
                spans.append([ts, ts + QUARTER])
    return [(iso(start), iso(end)) for start, end in spans]


WEEK = {"start": "2026-03-23T12:00:00Z", "end": "2026-03-30T12:00:00Z"}
WEEK_SPAN = (NOW - NOW % HOUR - 7 * DAY, NOW - NOW % HOUR)
TWO_DAYS = {"start": "2026-03-28T12:00:00Z", "end": "2026-03-30T12:00:00Z"}
EUROPE = ["DE-LU", "FR", "ES", "IT-NO", "NL", "BE", "PL", "SE-3", "NO-2", "DK-1", "AT", "CH"]

QUESTIONS = (
    Question(
        "Is power cheap in Germany now, against the last month?",
        (
            ("get_latest", {"zone": "DE-LU"}),
            ("get_statistics", {"zone": "DE-LU", "metric": "price", "start": "2026-02-28T12:00:00Z"}),
        ),
        lambda t: float(found(r"price (-?[\d.]+) EUR", t[0])) < float(found(r"p50 (-?[\d.]+)", t[1])),
        lambda s: s[0]["metrics"]["price"]["value"] < s[1]["statistics"]["p50"],
        lambda f: (
            f.now("price", "DE-LU")
            < statistics.median_low(v for _, v in f.rows("price", "DE-LU", NOW - NOW % HOUR - 30 * DAY, NOW))
        ),
    ),
    Question(
        "Which zone exports the most right now?",
        (("get_map_snapshot", {"metric": "interchange"}),),
        lambda t: min(by_zone(t[0]).items(), key=lambda pair: pair[1])[0],
        lambda s: min(by_zone_of(s[0]).items(), key=lambda pair: pair[1])[0],
        lambda f: min(f.zones("interchange"), key=lambda zone: f.now("interchange", zone)),
    ),
    Question(
        "When was the price in New South Wales negative in the last two days?",
        (("get_statistics", {"zone": "AU-NSW", "metric": "price", "below": 0, **TWO_DAYS}),),
        lambda t: re.findall(r"(\S+Z) to (\S+Z)", t[0].partition("Below 0:")[2]),
        lambda s: [(span["start_time"], span["end_time"]) for span in s[0]["statistics"]["below"]["first"]],
        lambda f: spans_below(f.rows("price", "AU-NSW", *map(at, TWO_DAYS.values())), 0),
    ),
    Question(
        "Which three hours are the cheapest tomorrow in France?",
        (("get_history", {"zone": "FR", "metric": "price", "start": "2026-03-31"}),),
        lambda t: lowest({ts: v for ts, v in read_table(t[0], QUARTER).items() if v is not None}, 3),
        lambda s: lowest({row["ts"]: row["value"] for row in rows_of(s[0])}, 3),
        lambda f: lowest(dict(f.rows("price", "FR", TOMORROW, TOMORROW + DAY)), 3),
    ),
    Question(
        "When should I charge my car for two hours in Poland?",
        (("find_window", {"zone": "PL", "hours": 2}),),
        lambda t: found(r"day-ahead prices: (\S+Z) to", t[0]),
        lambda s: s[0]["start_time"],
        lambda f: lowest(ahead(f, "PL"), 2),
    ),
    Question(
        "Is now one of the cheapest hours to run the washing machine in Spain?",
        (("find_window", {"zone": "ES", "hours": 1, "within": 12}),),
        lambda t: int(found(r"a block starting now would rank (\d+)", t[0])),
        lambda s: s[0]["now"]["rank"],
        lambda f: 1 + sum(mean < means(f, 12)[0] for mean in means(f, 12)),
    ),
    Question(
        "Which of the European zones has the lowest price at the moment?",
        (("get_map_snapshot", {"metric": ["price"], "zones": EUROPE}),),
        lambda t: min(by_zone(t[0]).items(), key=lambda pair: pair[1])[0],
        lambda s: min(by_zone_of(s[0]).items(), key=lambda pair: pair[1])[0],
        lambda f: min(EUROPE, key=lambda zone: f.now("price", zone)),
    ),
    Question(
        "What does Great Britain generate most of its power from?",
        (("get_latest", {"zone": "GB"}),),
        lambda t: found(r"generation at \S+ in %: (\w+)", t[0]),
        lambda s: max(s[0]["generation_mix"]["fuels"].items(), key=lambda pair: pair[1])[0],
        lambda f: max(f.by_fuel("generation", "GB", end=NOW)[-5:], key=lambda row: row[1])[2],
    ),
    Question(
        "Which zones have carbon intensity?",
        (("list_zones", {}),),
        lambda t: re.findall(r"^(\S+): .*carbon_intensity", t[0], re.M),
        lambda s: [zone["id"] for zone in s[0]["zones"] if "carbon_intensity" in zone["metrics"]],
        lambda f: f.zones("carbon_intensity"),
    ),
    Question(
        "What was the highest price in California in the last week, and when?",
        (("get_statistics", {"zone": "US-CAISO", "metric": "price", **WEEK}),),
        lambda t: (float(found(r"max (\S+) at", t[0])), found(r"max \S+ at (\S+Z)", t[0])),
        lambda s: (s[0]["statistics"]["max"], s[0]["statistics"]["max_time"]),
        lambda f: top(f.rows("price", "US-CAISO", *WEEK_SPAN)),
    ),
    Question(
        "How much power did France use on average yesterday?",
        (("get_history", {"zone": "FR", "metric": "demand", "start": "2026-03-29", "end": TODAY, "interval": "1d"}),),
        lambda t: round(float(found(r"^2026-03-29 (\S+)", t[0])), 3),
        lambda s: round(rows_of(s[0])[0]["value"], 3),
        lambda f: round(statistics.mean(v for _, v in f.rows("demand", "FR", TODAY - 23 * HOUR, TODAY)), 3),
    ),
    Question(
        "Does today's Swiss demand have gaps?",
        (("get_history", {"zone": "CH", "metric": "demand", "start": "2026-03-30"}),),
        lambda t: [iso(ts) for ts, value in read_table(t[0], HOUR).items() if value is None],
        lambda s: holes([row["ts"] for row in rows_of(s[0])]),
        lambda f: holes([ts for ts, _ in f.rows("demand", "CH", TODAY, NOW)]),
    ),
    Question(
        "At what price did New York's day-ahead auction clear for 18:00 UTC?",
        (
            (
                "get_history",
                {
                    "zone": "US-NYISO",
                    "metric": "price",
                    "market": "day_ahead",
                    "start": "2026-03-30T18:00:00Z",
                    "end": "2026-03-30T19:00:00Z",
                },
            ),
        ),
        lambda t: float(found(r"newest (-?[\d.]+) at 2026-03-30T18:00Z", t[0])),
        lambda s: rows_of(s[0])[0]["value"],
        lambda f: f.rows("price_day_ahead", "US-NYISO", at("2026-03-30T18:00Z"), at("2026-03-30T19:00Z"))[0][1],
    ),
    Question(
        "For how many hours did Belgium pay more than 80 EUR/MWh in the last week?",
        (("get_statistics", {"zone": "BE", "metric": "price", "above": "80", **WEEK}),),
        lambda t: float(found(r"Above 80: (\S+) h", t[0])),
        lambda s: s[0]["statistics"]["above"]["hours"],
        lambda f: sum(value > 80 for _, value in f.rows("price", "BE", *WEEK_SPAN)) / 4,
    ),
    Question(
        "When is power cheapest tomorrow in Great Britain?",
        (("find_window", {"zone": "GB"}), ("get_history", {"zone": "GB", "metric": "price", "start": "2026-03-31"})),
        lambda t: ("not available" in t[0], found(r"Data is available from \S+ to (\S+Z)", t[1])),
        lambda s: (not s[0]["available"], s[1]["available_range"]["last_time"]),
        lambda f: (f.rows("price", "GB", NOW) == [], iso(f.rows("price", "GB")[-1][0])),
    ),
    Question(
        "Was the French price of yesterday corrected, and how many values?",
        (("get_changes", {"zone": "FR", "metric": "price", "since": "-1h"}),),
        lambda t: int(found(r"^FR price: (\d+) rows changed", t[0])),
        lambda s: s[0]["corrected"][0]["changed"],
        lambda f: sum(value == 500 for _, value in f.rows("price", "FR", NOW - 2 * DAY, NOW)),
    ),
)


def means(files: Files, within: int) -> list[float]:
    """Return the exact sum of prices of each one-hour block in Spain, from the current interval onwards."""
    known = ahead(files, "ES")
    first = min(known)
    starts = range(first, first + within * HOUR - HOUR + 1, QUARTER)
    return [round(sum(known[ts + i * QUARTER] for i in range(4)), 6) for ts in starts]


def top(rows: list[tuple[int, float]]) -> tuple[float, str]:
    ts, value = max(rows, key=lambda row: (row[1], -row[0]))
    return value, iso(ts)


def holes(hours: list[int]) -> list[str]:
    return [iso(ts) for ts in range(min(hours), max(hours), HOUR) if ts not in hours]


def taken(texts: Texts, structures: Structures) -> tuple[int, int]:
    """Return the tokens of all texts and of all structures. The digits of a cursor count by their number only."""
    written = json.dumps(structures, separators=(",", ":"), ensure_ascii=False)
    written = re.sub(r"[0-9a-f]{8}-\d+", "00000000-00", written)
    return tokens("\n".join(texts)), tokens(written)


@pytest.fixture(scope="module")
def asked(agents: Any) -> Callable[[Question], tuple[Texts, Structures]]:
    """Return a function that makes the calls of a question with a key."""
    caller = agents.with_key()

    def ask(question: Question) -> tuple[Texts, Structures]:
        results = [caller.call(tool, **arguments) for tool, arguments in question.calls]
        return [result["content"][0]["text"] for result in results], [r["structuredContent"] for r in results]

    return ask


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.words)
def test_the_tools_alone_answer(asked: Any, agents: Any, question: Question) -> None:
    texts, structures = asked(question)
    truth = question.truth(Files(agents.home))
    assert truth not in (None, []), "a question without an answer shows nothing"
    assert question.from_texts(texts) == truth
    assert question.from_structures(structures) == truth
    text, structure = taken(texts, structures)
    row = re.search(rf"^\| {re.escape(question.words)} \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.M)
    assert row, "docs/mcp.md has a row for it"
    assert (int(row[1]), int(row[2]), int(row[3])) == (len(question.calls), text, structure)
