"""The one resource of the pipeline's assets and jobs, as Dagster's UI shows it: which warehouse, in which mode.

No `from __future__ import annotations`: Dagster reads the annotations.
"""

import os

import dagster as dg

from assets.ingest.context import PipelineContext
from orchestration.work.resources import open_context


class Warehouse(dg.ConfigurableResource[PipelineContext]):
    """The warehouse and the publishers' session, opened when a run needs it; an asset gets its PipelineContext."""

    home: str
    """EMDS_HOME: a folder or a bucket's address."""
    feeds: str
    """simulated, live or recorded: the mode that an empty warehouse takes."""

    def create_resource(self, context: dg.InitResourceContext) -> PipelineContext:
        return open_context({**os.environ, "EMDS_HOME": self.home, "EMDS_FEEDS": self.feeds})
