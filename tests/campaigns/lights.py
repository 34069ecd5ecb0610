"""What Dagster's UI shows of a running warehouse, by GraphQL: checks and partitions by colour, runs."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections import Counter
from typing import Any

CHECKS = """{ assetNodes { assetKey { path } assetChecksOrError { ... on AssetChecks { checks { name
    executionForLatestMaterialization { status evaluation { severity success } } } } } } }"""
PARTITIONS = """{ assetNodes { assetKey { path } partitionStats { numPartitions numMaterialized numFailed } } }"""
RUNS = """{ runsOrError(limit: 5000) { ... on Runs { results { jobName status startTime endTime } } } }"""


def ask(url: str, query: str) -> Any:
    """The data of an answer. Raises ValueError for errors in it."""
    body = json.dumps({"query": query}).encode()
    question = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(question, timeout=120) as answer:
        answered = json.load(answer)
    if "errors" in answered:
        raise ValueError(answered["errors"])
    return answered["data"]


def checks(url: str) -> dict[str, str]:
    """Colour by check, as `nyiso/load fresh`: green, amber, red, not evaluated, skipped, failed to run, running."""
    return {
        f"{'/'.join(node['assetKey']['path'])} {check['name']}": _colour(check["executionForLatestMaterialization"])
        for node in ask(url, CHECKS)["assetNodes"]
        for check in node["assetChecksOrError"].get("checks", ())
    }


def _colour(execution: dict[str, Any] | None) -> str:
    if execution is None:
        return "not evaluated"
    status, evaluation = execution["status"], execution["evaluation"]
    if status == "SUCCEEDED":
        return "green"
    if status == "FAILED":
        return "amber" if evaluation["severity"] == "WARN" else "red"
    return {"IN_PROGRESS": "running", "SKIPPED": "skipped", "EXECUTION_FAILED": "failed to run"}[str(status)]


def partitions(url: str) -> Counter[str]:
    """Partitions by colour: green, red, grey."""
    counts: Counter[str] = Counter()
    for node in ask(url, PARTITIONS)["assetNodes"]:
        if stats := node["partitionStats"]:
            counts["green"] += stats["numMaterialized"]
            counts["red"] += stats["numFailed"]
            counts["grey"] += stats["numPartitions"] - stats["numMaterialized"] - stats["numFailed"]
    return counts


def runs(url: str) -> Counter[str]:
    """Runs by job and status, as `live SUCCESS`."""
    return Counter(f"{run['jobName']} {run['status']}" for run in ask(url, RUNS)["runsOrError"]["results"])


def main(url: str) -> None:
    """Prints the counts, and every check that is not green."""
    found = checks(url)
    print("checks", dict(Counter(found.values())))
    print("partitions", dict(partitions(url)))
    print("runs", dict(runs(url)))
    for name, colour in found.items():
        if colour != "green":
            print(f"  {colour:14} {name}")


if __name__ == "__main__":
    main(sys.argv[1])
