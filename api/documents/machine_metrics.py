"""Report disk, memory, payments, webhook messages and failed runs in `/metrics`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from api.access import webhooks
from api.access.accounts_engine import AccountsUnavailable
from api.access.x402.ledger import Ledger
from api.service import Service
from warehouse.documents.failed_runs import FailedRuns
from warehouse.errors import StorageError
from warehouse.store import layout


class MachineMetrics(Collector):
    """Gauges that are read on request. A gauge that cannot be read has no line."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        failed = CounterMetricFamily("emds_failed_runs", "Failed Dagster runs, by job.", labels=["job"])
        with suppress(StorageError):
            document = self._service.documents.get(layout.FAILED_RUNS)
            for job, count in sorted(document.decode(FailedRuns).jobs.items()) if document else ():
                failed.add_metric([job], count)
        yield failed
        with suppress(OSError):
            free = shutil.disk_usage(self._service.storage.local).free
            yield GaugeMetricFamily("emds_disk_free_bytes", "Free bytes on the disk of the local folder.", free)
        with suppress(OSError):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            text = "Resident memory of the worker that returns this response."
            yield GaugeMetricFamily("emds_worker_resident_memory_bytes", text, pages * os.sysconf("SC_PAGE_SIZE"))
        with suppress(AccountsUnavailable):
            payments = GaugeMetricFamily("emds_payments", "Payments in the ledger, by state.", labels=["state"])
            for state, count in sorted(Ledger(self._service.gate.database).counts().items()):
                payments.add_metric([state], count)
            yield payments
            waiting = webhooks.count_waiting(self._service.gate.database)
            yield GaugeMetricFamily("emds_webhook_messages_waiting", "Webhook messages not delivered yet.", waiting)
