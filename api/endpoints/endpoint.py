"""What the table of endpoints says of one method of one path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from api.http.parameters import Parameter


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path."""

    id: str
    """Its operationId; the key of its price where it has one."""
    path: str
    summary: str
    description: str
    tag: str
    answer: str
    """The name of the 200's schema in OpenAPI's components."""
    parameters: dict[str, Parameter] = field(default_factory=dict)
    zones: tuple[str, ...] = ()
    """What `{zone}` may be."""
    method: str = "GET"
    paid: bool = False
    media: tuple[str, ...] = ("application/json",)
    body: str = ""
    """The name of the request body's schema; empty where it takes none."""
    statuses: tuple[int, ...] = ()
    """Statuses besides the answer's own, 304, 404 for a zone, and those that come anywhere (`api.openapi.document`)."""
    code: int = 200
    """The status of its answer."""
    keyed: bool = False
    """Only for holders of a key: about the key itself."""
    token: bool = False
    """Only for the operator, by EMDS_METRICS_TOKEN."""


def named(parameters: Iterable[Parameter]) -> dict[str, Parameter]:
    """Parameters by name, in this order."""
    return {parameter.name: parameter for parameter in parameters}
