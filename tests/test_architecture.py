"""The rules of docs/architecture.md, one test a rule: who may import whom, and what every file says about itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("warehouse", "assets", "orchestration", "api", "geo_data", "tools")
CLIENTS = ROOT / "clients"
"""Packages of their own, which import nothing of the service."""
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

BASICS = {
    "warehouse.market.carbon",
    "warehouse.market.feeds",
    "warehouse.market.further_zones",
    "warehouse.market.metrics",
    "warehouse.market.vocabulary",
    "warehouse.market.zone_names",
    "warehouse.market.zones",
    "warehouse.market.clock",
    "warehouse.rows.schema",
    "warehouse.errors",
    "warehouse.version",
}
"""What every parser may know of the warehouse."""
OF_EVERY_ROOM = {"warehouse.errors", "warehouse.bookkeeping", "warehouse.caches", "warehouse.settings"}
ALLOWED: dict[str, set[str]] = {
    "warehouse": {"warehouse"},
    "warehouse.market": {"warehouse.market", "warehouse.errors", "warehouse.rows.schema"},
    "warehouse.rows": {"warehouse.rows", "warehouse.market", "warehouse.errors"},
    "warehouse.judge": {"warehouse.judge", "warehouse.rows", "warehouse.market", "warehouse.errors"},
    "warehouse.store": {"warehouse.store", *OF_EVERY_ROOM},
    "warehouse.series": {"warehouse.series", "warehouse.store", "warehouse.rows", "warehouse.market", *OF_EVERY_ROOM},
    "warehouse.figures": {
        "warehouse.figures",
        "warehouse.judge",
        "warehouse.series",
        "warehouse.store",
        "warehouse.rows",
        "warehouse.market",
        *OF_EVERY_ROOM,
    },
    "assets.parsing": {"assets.parsing", *BASICS},
    "assets.sources": {"assets.sources", "assets.parsing", *BASICS},
    "assets.sources.__main__": {
        "assets.sources",
        "warehouse.rows.forecasts",
        "warehouse.judge.quality",
        *BASICS,
    },
    "assets.fetch": {"assets.fetch", "assets.sources", "assets.parsing", *BASICS},
    "assets.simulated": {
        "assets.simulated",
        "assets.fetch",
        "assets.parsing",
        "assets.sources",
        "warehouse.market.zones",
        *BASICS,
    },
    "assets.ingest": {"assets.ingest", "assets.documents", "assets.fetch", "warehouse"},
    "assets.documents": {"assets.documents", "assets.fetch", "warehouse", "geo_data.terms"},
    "assets": {"assets", "warehouse", "geo_data.terms"},
    "orchestration": {"orchestration", "assets", "warehouse", "api"},
    "api": {"api", "warehouse"},
    "geo_data": {"geo_data", "warehouse"},
    "tools": {"tools", "api", "assets", "warehouse"},
}
"""Import directions (docs/architecture.md). The longest name that fits a module decides."""
FOREIGN: dict[str, set[str]] = {
    "warehouse": {"dagster", "flask", "werkzeug", "requests", "urllib3", "http", "pandas", "geopandas", "sqlalchemy"},
    "assets.parsing": {"dagster", "flask", "duckdb", "geopandas", "requests", "urllib3"},
    "assets.sources": {"dagster", "flask", "duckdb", "geopandas", "requests", "urllib3"},
    "assets.simulated": {"dagster", "flask", "duckdb", "geopandas", "requests", "urllib3"},
    "assets.fetch": {"dagster", "flask", "duckdb", "geopandas"},
    "assets.ingest": {"dagster", "flask", "duckdb"},
    "assets.documents": {"dagster", "flask", "duckdb"},
    "api": {"dagster", "pandas", "geopandas", "requests", "flask"},
    "api.application": {"dagster", "pandas", "geopandas", "requests"},
}
"""Libraries that a package must not import."""
FORBIDDEN_NAMES = re.compile(r"^(utils?|helpers?|manager|common|misc|data|info|iso)$")


@cache
def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def rule_of(module: str, rules: dict[str, set[str]]) -> set[str] | None:
    """Return the rule of the longest package name that contains a module."""
    fitting = [name for name in rules if module == name or module.startswith(f"{name}.")]
    return rules[max(fitting, key=len)] if fitting else None


def within(module: str, names: set[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(path)))


@cache
def imports(path: Path) -> frozenset[str]:
    """Return every module that a file imports: at the top, in functions, and for type checkers only.

    `from a import b` is a.b if b is a module.
    """
    found = set[str]()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"relative import from {node.module}"
            within_it = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else str(node.module) for name in within_it}
    return frozenset(found)


MODULES = {module_of(path) for path in FILES}


def ours(module: str) -> bool:
    return module.split(".")[0] in PACKAGES


def reached_from(*modules: str) -> set[str]:
    """Return these modules and all that they import, directly or indirectly."""
    graph = {module_of(path): imports(path) & MODULES for path in FILES}
    reached, left = set[str](), [*modules]
    while left:
        module = left.pop()
        if module not in reached:
            reached.add(module)
            left += graph[module]
    return reached


def test_imports_go_one_way() -> None:
    wrong = []
    for path in FILES:
        module = module_of(path)
        allowed = rule_of(module, ALLOWED)
        assert allowed is not None, f"{module} is in no room"
        wrong += [f"{module} imports {name}" for name in imports(path) if ours(name) and not within(name, allowed)]
    assert not wrong


def test_private_modules_stay_in_their_package() -> None:
    """Tests included: what another package needs has a public name."""
    wrong = []
    for path in (*FILES, *sorted((ROOT / "tests").rglob("*.py"))):
        package = module_of(path).rpartition(".")[0]
        for name in imports(path):
            parts = name.split(".")
            private = next((n for n, part in enumerate(parts) if part.startswith("_") and part != "__main__"), None)
            if ours(name) and private is not None and ".".join(parts[:private]) != package:
                wrong.append(f"{module_of(path)} imports {name}")
    assert not wrong


def test_no_foreign_library_where_it_has_no_business() -> None:
    wrong = []
    for path in FILES:
        module = module_of(path)
        foreign = rule_of(module, FOREIGN) or set()
        wrong += [f"{module} imports {name}" for name in imports(path) if within(name, foreign)]
    assert not wrong


def test_only_the_application_knows_the_routes() -> None:
    """Modules that views read from know no route, so that a request is read from the top down."""
    for path in FILES:
        module = module_of(path)
        upward = {name for name in imports(path) if within(name, {"api.application"})}
        assert not upward or not module.startswith("api.") or module in ("api.application", "api.wsgi"), module


def test_what_views_read_from_knows_no_flask_by_any_way() -> None:
    """Modules that views read from do not import Flask, directly or indirectly."""
    rooms = {"api.series", "api.documents", "api.geo", "api.access", "api.pages"}
    reached = reached_from(*(module for module in MODULES if within(module, rooms)))
    assert not [path for path in FILES if module_of(path) in reached and "flask" in imports(path)]
    assert "api.http.problems" in reached


def test_the_table_of_endpoints_lies_below_every_view() -> None:
    """Views take the service: neither the table nor the gate, which reads prices from it, leads to one."""
    reached = reached_from("api.endpoints.table", "api.access.gate")
    assert not reached & {"api.service", "api.application"}
    assert {"api.endpoints.query_parameters", "api.geo.parameters"} <= reached


def test_no_module_imports_itself_in_a_circle() -> None:
    """A reader of a file can first read its imports; imports in functions and for type checkers count too."""
    graph = {module_of(path): imports(path) & MODULES for path in FILES}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail[trail.index(module) :], module))
        if module not in done:
            for name in sorted(graph[module] - {module}):
                visit(name, (*trail, module))
            done.add(module)

    for module in sorted(graph):
        visit(module, ())


def test_a_file_says_first_what_lives_in_it() -> None:
    wrong = []
    for path in FILES:
        text = ast.get_docstring(tree_of(path)) or ""
        if len(text.split("\n")[0]) < 20:
            wrong.append(f"{path.relative_to(ROOT)}: {text[:40]!r} says too little")
    assert not wrong


def test_no_module_is_named_after_nothing() -> None:
    wrong = [
        str(path) for path in FILES for part in module_of(path).split(".") if FORBIDDEN_NAMES.match(part.strip("_"))
    ]
    assert not wrong


def test_the_warehouse_loads_without_what_it_must_not_know() -> None:
    """By running it: a library may come in by another's door."""
    names = ", ".join(sorted(m for m in MODULES if m.startswith("warehouse")))
    code = f"import sys, {names}; print(*[m for m in ('dagster', 'flask', 'requests', 'pandas') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout.split()
        == []
    )


def test_keys_of_kept_files_are_spelled_in_one_place() -> None:
    """`warehouse.layout`; sources know their publishers' paths."""
    spelled = re.compile(
        r"^(series|history|raw|published|quarantine|backfill|damaged)/|^accounts\.sqlite$|\.history\.parquet"
    )
    elsewhere = {"warehouse.store.layout", "assets.sources", "assets.simulated"}
    wrong = []
    for path in (path for path in FILES if not within(module_of(path), elsewhere)):
        nodes = nodes_of(path)
        prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = (node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
        wrong += [
            f"{path.relative_to(ROOT)}:{node.lineno} spells {node.value[:40]!r}"
            for node in texts
            if id(node) not in prose and spelled.search(node.value)
        ]
    assert not wrong


def test_parquet_is_read_by_one_thread() -> None:
    """Arrow's threads can abort a process that exits while they end, after its work is done (apache/arrow#34314)."""
    for path in FILES:
        text = path.read_text()
        if "import pyarrow.parquet" in text:
            reads = re.findall(r"(?:\bfile|\bParquetFile\(.*\))\.read\((.*?)\)", text)
            assert all("use_threads=False" in arguments for arguments in reads), path
        assert not re.search(r"\.(read_table|iter_batches|read_row_group)\(", text), path


def test_clients_import_nothing_of_the_service() -> None:
    found = [
        f"{path.name}: {node.module}"
        for path in CLIENTS.rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and not node.level and ours(node.module or "")
    ]
    assert not found
    assert list(CLIENTS.rglob("clients.py"))


def test_a_wheel_holds_every_package() -> None:
    """`packages` of pyproject.toml lists the packages; data folders are not packages, and tools need a checkout."""
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {".".join(path.parent.relative_to(ROOT).parts) for path in FILES if path.name == "__init__.py"}
    assert set(named) == there - {"tools"}


READS_A_DATE = re.compile(r"\b(date|datetime)\.(today|utcnow|now)$")
READS_A_TIME = re.compile(r"\btime\.time(_ns)?$")
MAKES_A_DAY = re.compile(
    r"\b(MarketDay(\.at)?|Window|ctime|from(isoformat|timestamp)|gmtime|iso|local_(date|midnight)|localtime"
    r"|market_days|month_of|months|strftime|utc)$"
)


def test_tests_choose_their_days() -> None:
    """A test that takes its days from the machine's clock fails on some dates: `tests.stand_ins.days` has others."""
    wrong = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if module_of(path) != "tests.stand_ins.days" and re.search(
            r"time\.time|today|utcnow|\.now\(", path.read_text()
        ):
            calls = [node for node in nodes_of(path) if isinstance(node, ast.Call)]
            wrong += [f"{module_of(path)}:{call.lineno}" for call in calls if READS_A_DATE.search(called(call))]
            wrong += [f"{module_of(path)}:{line}" for line in days_of_the_clock(tree_of(path))]
    assert not wrong


def days_of_the_clock(block: ast.AST, names: frozenset[str] = frozenset()) -> Iterator[int]:
    """Yield the lines that make a day of the machine's time, in a module or function and the functions in it.

    `names`: the variables around the block that hold a time of the machine.
    """
    own, inner = list[ast.AST](), list[ast.AST]()
    below = [*ast.iter_child_nodes(block)]
    while below:
        node = below.pop(0)
        (inner if isinstance(node, ast.FunctionDef) else own).append(node)
        below += [] if isinstance(node, ast.FunctionDef) else ast.iter_child_nodes(node)

    def of_the_clock(node: ast.AST) -> bool:
        return any(
            (isinstance(part, ast.Call) and READS_A_TIME.search(called(part)))
            or (isinstance(part, ast.Name) and part.id in names)
            for part in ast.walk(node)
        )

    for node in own:
        if isinstance(node, ast.Assign) and of_the_clock(node.value):
            names |= {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    for node in own:
        if isinstance(node, ast.Call) and MAKES_A_DAY.search(called(node)) and any(map(of_the_clock, node.args)):
            yield node.lineno
    for function in inner:
        yield from days_of_the_clock(function, names)


def called(call: ast.Call) -> str:
    """Return what is called, as it is spelled."""
    return ast.unparse(call.func)


PARTICIPLES = {"told", "said", "stated", "noted", "kept", "seen", "shown", "given", "made", "held"}
PUBLIC_MEMBERS = {"api.mcp.history: held"}
"""What callers know by such a name."""


def names(path: Path) -> Iterator[str | None]:
    """Every name that a file gives: functions, classes, parameters, variables, attributes, keys."""
    for node in nodes_of(path):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name) | ast.Name(id=name):
                yield name
            case ast.Attribute(attr=name) | ast.keyword(arg=name) | ast.alias(asname=name):
                yield name
            case ast.Dict(keys=keys):
                yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def test_no_name_is_a_bare_participle() -> None:
    """`kept` cannot be found by a search: name the thing (`rows`), or begin with a verb (`read_rows`)."""
    found = {f"{module_of(path)}: {name}" for path in FILES for name in names(path) if name}
    assert not [each for each in found - PUBLIC_MEMBERS if each.rpartition(": ")[2].strip("_") in PARTICIPLES]
