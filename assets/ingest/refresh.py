"""What follows from a run's new rows: the catalogue and the documents of the zones that it touched, published in that same run."""

from __future__ import annotations

from assets.documents import geo_layers
from assets.documents.publish import publish
from assets.ingest import pipeline
from assets.ingest.reports import RunReport
from warehouse import catalogue, clock


def refresh(house: pipeline.House, report: RunReport) -> None:
    """Publishes the catalogue, and latest, brief and snapshot where a zone's rows changed."""
    catalogue.publish(house.storage, house.sources, house.mode, house.rights, house.configured, clock.now())
    if report.zones:
        publish(house.storage, zones=report.zones)


def refresh_all(house: pipeline.House) -> None:
    """Publishes everything: a day-ahead hour turns without any new row. The geo layers only where their tables changed."""
    catalogue.publish(house.storage, house.sources, house.mode, house.rights, house.configured, clock.now())
    publish(house.storage)
    geo_layers.ensure(house.storage)
