"""What commands of the line leave behind where something failed: their exit code, what is asked again, no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from assets import first_days
from assets.ingest.reports import DayReport, RunReport
from orchestration import backfill, commands, repair, upgrade, verify
from orchestration.backfill import Task
from orchestration.cli import main
from tests.orchestration.conftest import in_simulated
from warehouse import layout
from warehouse.storage import Folder

DAYS = (date(2026, 11, 18), date(2026, 11, 19))
TASKS = [Task("elexon.demand", DAYS[:1]), Task("elexon.price", DAYS[:1]), Task("neso.generation", DAYS[:1])]


def report(task: Task, state: str) -> RunReport:
    return RunReport(task.feed, tuple(DayReport(str(day), state, reason="503") for day in task.days))  # type: ignore[arg-type]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    in_simulated(monkeypatch, tmp_path)
    return tmp_path


def test_what_failed_before_a_kill_is_asked_for_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run(tasks: list[Task], again: bool) -> Iterator[tuple[Task, RunReport]]:
        asked.append([task.feed for task in tasks])
        for task in tasks:
            if len(asked) == 1 and task.feed.startswith("neso"):
                raise KeyboardInterrupt
            yield task, report(task, "failed" if task.feed == "elexon.price" and len(asked) == 1 else "ok")

    monkeypatch.setattr(backfill, "run", run)
    with pytest.raises(KeyboardInterrupt):
        commands.resumable(TASKS, "test")
    assert commands.resumable(TASKS, "test") == 0
    assert asked == [["elexon.demand", "elexon.price", "neso.generation"], ["elexon.price", "neso.generation"]]
    assert Folder(home).keys(layout.JOURNALS) == []


def test_after_a_fill_in_which_something_failed_servers_start_all_the_same(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "resumable", lambda *_: 1)
    assert main(["fill", "--days", "1"]) == 0


def test_a_repair_that_could_not_publish_or_open_dagster_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair"]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(repair, "refresh_all", lambda _: ["snapshot.json: read-only file system"])
        assert main(["repair"]) == 1
    (home / "dagster").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("orchestration.event_log.instance", lambda _: None)
        assert main(["repair"]) == 1
    assert "Dagster's partitions could not be brought in line" in capsys.readouterr().out


def test_an_upgrade_with_nothing_to_do_brings_dagster_in_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["publish"]) == 0
    for mended, code in ((3, 0), (0, 0), (None, 1)):
        monkeypatch.setattr(repair, "mend_partitions", lambda _, mended=mended: mended)
        assert upgrade.main() == code


@pytest.mark.parametrize("verb", [["doctor"], ["gaps", "--days", "1"]])
def test_what_only_reports_gives_an_empty_warehouse_no_mode(
    home: Path, monkeypatch: pytest.MonkeyPatch, verb: list[str]
) -> None:
    main(verb)
    assert Folder(home).stat(layout.MODE) is None
    monkeypatch.setenv("EMDS_FEEDS", "live")
    main(verb)
    assert Folder(home).stat(layout.MODE) is None


@pytest.mark.parametrize("damaged", [b'{"aemo', b"[]", b'{"elexon.demand": "x"}', b'{"elexon.demand": 3}'])
def test_damaged_first_days_are_named_and_stop_nothing(home: Path, damaged: bytes) -> None:
    assert main(["publish"]) == 0
    storage = Folder(home)
    storage.put(layout.FIRST_DAYS, damaged)
    storage.put(layout.attempts("elexon", "2026-11"), b"garbage")
    assert first_days.load(storage) == {}
    assert main(["doctor"]) in (0, 1)
    assert {fault.key for fault in verify.faults(storage)} == {
        layout.FIRST_DAYS,
        layout.attempts("elexon", "2026-11"),
    }
    assert main(["repair"]) == 0
    assert list(verify.faults(storage)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        ["rebuild", "--start", "2026-11-22", "--end", "2026-11-20"],
        ["up", "--port", "99999"],
        ["up", "--ui-port", "-1"],
        ["serve", "--port", "70000"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_told(home: Path, wrong: list[str]) -> None:
    try:
        code: object = main(wrong)
    except SystemExit as end:
        code = end.code
    assert code == 2


_HOLDER = """
import os, time
from orchestration.backfill import _worker
if __name__ == "__main__":
    with _worker() as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(600)
"""


@pytest.mark.slow
def test_a_worker_ends_with_the_process_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "holder.py"
    script.write_text(_HOLDER)
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    holder = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environ)
    assert holder.stdout is not None
    worker = int(holder.stdout.readline())
    assert is_alive(worker)
    holder.send_signal(signal.SIGKILL)
    holder.wait(20)
    holder.stdout.close()
    assert eventually(lambda: not is_alive(worker))


_OPENER = """
import sys
from pathlib import Path
from orchestration import event_log
sys.stdin.readline()
instance = event_log.instance(Path(sys.argv[1]))
print(instance is not None and instance.get_runs_count(), flush=True)
"""


@pytest.mark.slow
def test_processes_that_first_open_dagsters_storage_at_once_make_it_once(home: Path) -> None:
    command = [sys.executable, "-c", _OPENER, str(home)]
    pipe = subprocess.PIPE
    openers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(4)]
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    said = [opener.communicate(timeout=120)[0].strip() for opener in openers]
    assert said == ["0"] * 4


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def eventually(holds: Callable[[], bool], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
