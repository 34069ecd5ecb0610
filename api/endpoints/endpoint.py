"""One row of the table of endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from api.http.parameters import Parameter


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path."""

    id: str
    """Its operationId, and the key of its price."""
    path: str
    tag: str
    answer: str
    """The schema of a good answer, by its name in OpenAPI's components; empty where there is no body."""
    summary: str
    description: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    zones: tuple[str, ...] = ()
    """What `{zone}` may be."""
    price: str = ""
    """USD a call; empty for what is free. Several zones in one call: USD a zone."""
    offer: str = ""
    """What a buyer gets, in one line; facilitators refuse more than 500 characters."""
    media: tuple[str, ...] = ("application/json",)
    method: str = "GET"
    body: str = ""
    """The schema of the request body; empty where it takes none."""
    code: int = 200
    """The status of a good answer."""
    more_statuses: tuple[int, ...] = ()
    """Refusals beyond those that follow from its kind."""
    keyed: bool = False
    """Only for holders of a key: about the key itself."""
    token: bool = False
    """Only for the operator, by EMDS_METRICS_TOKEN."""

    @property
    def paid(self) -> bool:
        return bool(self.price)

    @property
    def access(self) -> str:
        """Who may call it: `free`, `paid` (key, payment or sample), `key` (about the key itself) or `token`."""
        return "token" if self.token else "paid" if self.paid else "key" if self.keyed else "free"

    @property
    def statuses(self) -> frozenset[int]:
        """Its refusals, besides those that any path may answer."""
        kinds = (
            ((401, 402, 409), self.paid),
            ((401,), self.keyed or self.token),
            ((404,), "{" in self.path),
            ((406,), len(self.media) > 1),
            ((413, 415), self.body),
        )
        return frozenset(status for statuses, fits in kinds if fits for status in statuses) | {*self.more_statuses}


def takes(*parameters: Parameter) -> dict[str, Parameter]:
    """Parameters by name, in this order."""
    return {parameter.name: parameter for parameter in parameters}
