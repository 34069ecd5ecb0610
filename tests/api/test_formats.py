"""CSV, Parquet and Arrow hold the rows of the JSON in its order, read by pandas, pyarrow and DuckDB."""

from __future__ import annotations

import io
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from api.http.problems import Problem
from api.series import formats

PATHS = [
    "/v1/price/GB",
    "/v1/generation/GB",
    "/v1/generation/GB?order=desc&limit=7",
    "/v1/interchange/GB?by=border",
    "/v1/demand/US-NYISO",
    "/v1/demand/GB?interval=1h",
    "/v1/price/GB?start=100000000&end=100000060",
    "/v1/capacity/DE-LU",
]


@pytest.fixture
def fetch(market: Any) -> Any:
    client = market.client()
    headers = market.key(client)
    return lambda path, format_: client.get(f"{path}{'&' if '?' in path else '?'}format={format_}", headers=headers)


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as a column format holds them: every member in every row."""
    return [{**dict.fromkeys(rows[0]), **row} for row in rows]


@pytest.mark.parametrize("path", PATHS)
def test_every_format_has_the_same_rows(fetch: Any, path: str) -> None:
    rows = fetch(path, "json").get_json()["data"]
    expected = plain(rows) if rows else []
    assert pq.read_table(io.BytesIO(fetch(path, "parquet").data)).to_pylist() == expected
    assert pa.ipc.open_stream(fetch(path, "arrow").data).read_all().to_pylist() == expected
    table = pacsv.read_csv(
        io.BytesIO(fetch(path, "csv").data),
        convert_options=pacsv.ConvertOptions(
            strings_can_be_null=True, column_types={"value": pa.float64(), "coverage": pa.float64()}
        ),
    )
    assert table.to_pylist() == expected


def test_the_envelope_is_in_the_schemas_metadata(fetch: Any) -> None:
    stated = fetch("/v1/price/GB", "json").get_json()
    del stated["data"]
    for table in (
        pq.read_table(io.BytesIO(fetch("/v1/price/GB", "parquet").data)),
        pa.ipc.open_stream(fetch("/v1/price/GB", "arrow").data).read_all(),
    ):
        metadata = {name.decode(): value.decode() for name, value in table.schema.metadata.items()}
        assert orjson.loads(metadata["emds"]) == stated
        assert (metadata["zone"], metadata["attribution"], metadata["count"]) == ("GB", "© North Market Operator", "48")


def test_the_envelope_of_csv_is_in_headers_that_any_client_can_read(fetch: Any) -> None:
    answer = fetch("/v1/price/GB", "csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert answer.headers["X-EMDS-Attribution"] == "%C2%A9 North Market Operator"
    assert [answer.headers[f"X-EMDS-{name}"] for name in ("Count", "Truncated", "Sources")] == ["48", "false", "north"]
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="GB_price_')


@pytest.mark.parametrize(
    ("accept", "format_"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("application/json", "json"),
        ("text/csv", "csv"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "json"),
        ("application/vnd.apache.parquet", "parquet"),
        ("application/vnd.apache.arrow.stream, */*;q=0.1", "arrow"),
        ("text/csv;q=0.5, application/json;q=0.4", "csv"),
        ("application/*", "json"),
        ("application/json;q=0, */*", "csv"),
        ("text/*", "csv"),
    ],
)
def test_accept_chooses(accept: str, format_: str) -> None:
    assert formats.negotiate(None, accept) == format_


def test_the_parameter_goes_before_accept() -> None:
    assert formats.negotiate("parquet", "text/csv") == "parquet"


@pytest.mark.parametrize(("wanted", "accept"), [("xml", ""), (None, "image/png"), (None, "application/xml"), ("", "")])
def test_an_unknown_format_is_406_with_those_there_are(wanted: str | None, accept: str) -> None:
    with pytest.raises(Problem) as refused:
        formats.negotiate(wanted, accept)
    assert refused.value.kind.status == 406
    assert refused.value.members["acceptable"] == list(formats.MEDIA.values())
