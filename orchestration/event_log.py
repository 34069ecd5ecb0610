"""Records in Dagster's event log what the command line ingested: one event a finished market day, as a run does.

The Dagster home lies in EMDS_HOME/dagster and is initialised once, alone: eight processes that first touch it at the
same time break it for good (dagster-io/dagster#27390).
"""

import os
import shutil
import warnings
from pathlib import Path

import dagster as dg

from assets.feeds import key_of, materialisation
from assets.ingest.reports import RunReport
from warehouse.bookkeeping import logged
from warehouse.market import Feed

ROOT = Path(__file__).resolve().parent.parent


def dagster_home(home: Path) -> Path:
    """EMDS_HOME/dagster with a dagster.yaml in it: the project's, or the owner's own, which is left alone.

    Also set as DAGSTER_HOME for this process and its children.
    """
    folder = home / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "dagster.yaml").exists():
        shutil.copyfile(ROOT / "dagster.yaml", folder / "dagster.yaml")
    os.environ["DAGSTER_HOME"] = str(folder)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    return folder


def instance(home: Path) -> dg.DagsterInstance | None:
    """The instance of this warehouse, its tables made if need be; None, logged, where its storage cannot be opened."""
    with logged("Dagster's storage"):
        dagster_home(home)
        warnings.filterwarnings("ignore", category=dg.BetaWarning)
        return dg.DagsterInstance.get()
    return None


def record(instance: dg.DagsterInstance | None, feed: Feed, report: RunReport) -> list[str]:
    """Writes the materialisations of a report's finished days; returns their partition keys.

    A day that cannot be written is logged: the rows are stored, and Dagster alone does not know of them.
    """
    keys = []
    for day in report.days:
        if day.finished:
            keys.append(key_of(feed, day.day))
            if instance is not None:
                with logged(f"materialisation of {feed.id} {day.day}"):
                    instance.report_runless_asset_event(materialisation(feed, report, day))
    return keys
