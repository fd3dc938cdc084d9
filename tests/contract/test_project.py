"""Rules for the source code: layers of imports, lengths of files, and forbidden calls.

Each rule is a function from source to complaints; `test_the_rules_can_fail` shows that each can
complain.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import re
import tomllib
import types
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from dpcore.datasets.formats import FORMATS
from dpcore.mechanisms import randomizers, scores
from dpcore.methods import METHODS
from scripts import mutants

pytestmark = pytest.mark.usefixtures("parsed_once")
ROOT = Path(__file__).resolve().parents[2]

# A package may import from the lines above its own; inside a package files import each other freely, without circles.
LAYERS = [
    ("errors", "extras", "language", "text", "arguments"),
    ("domain", "accounting", "charts"),
    ("mechanisms", "datasets"),
    ("postprocess", "rows"),
    ("door",),
    ("methods",),
    ("evaluate", "audit", "export"),
    ("experiment", "dpcore"),  # the latter is the front door, `import dpcore`, which shows all above but the dashboard
    ("dashboard",),
    ("pages", "app"),
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def dpcore(*names: str) -> set[str]:
    return {f"dpcore.{name}" for name in names}


# Tighter than the layers: what starts with a name here may import nothing of dpcore but what starts with one of these.
READERS = ("delimited_text", "doubts", "parquet", "workbooks")
ONLY = {
    "dpcore.charts": dpcore("charts", "language", "text"),
    "dpcore.postprocess.simplex": set(),
    "dpcore.datasets.doubts": dpcore("text"),
    # the process that parses files of people loads these, and must start quickly: no pandas, and nothing that needs it
    "dpcore.datasets.delimited_text": dpcore("datasets.doubts", "errors", "text"),
    "dpcore.datasets.parquet": dpcore("datasets.delimited_text", "datasets.doubts", "errors"),
    "dpcore.datasets.workbooks": dpcore("datasets.delimited_text", "datasets.doubts", "errors", "extras", "text"),
    "dpcore.datasets.formats": dpcore(*("datasets." + own for own in READERS), "errors"),
    "dpcore.datasets.worker": dpcore("datasets.formats", "errors"),
}
# A public name far up that asks for what is further down, when it is called.
UP = {("dpcore.domain.schema", "dpcore.datasets.proposals.propose_schema")}  # `Schema.infer`
MAX_LINES = {"pages": 90, "app": 40}
DRAWS = {"altair_chart", "area_chart", "bar_chart", "line_chart", "scatter_chart", "data_transformers"}
CONVERTS = {"save", "show", "to_dict", "to_html", "to_json", "to_url"}
ON_FIRST_USE = {"charset_normalizer", "opendp", "python_calamine", "vl_convert"}
LOOKED_AT = (ast.Attribute, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.Name, ast.keyword)
DEFINED = (types.FunctionType, property, cached_property, classmethod, staticmethod)
USE_STREAMLITS_OWN = ("dpcore.dashboard.housekeeping", "dpcore.dashboard.messages")  # to give memory back, and to guard
STREAMLITS_OWN = ("streamlit.runtime", "streamlit.proto", "streamlit.elements", "streamlit.delta_generator")
PICKLES = {"pickle", "cPickle", "cloudpickle", "dill", "shelve", "marshal"}
FORBIDDEN = {"print", "read_pickle", "to_pickle", "allow_pickle"}
# Real rows are read by evaluation, which makes counts and means of them. Where else a screen needs them, and why:
ROWS = {"train", "test", "train_sample", "test_sample", "given", "frame", "blocks", "true_rows"}
OF_ROWS = {"flat_indices", "codes", "all_codes", "numbers"}  # of a counter of rows, which has only codes of them
READS_ROWS = {
    "intake": "reads them, and hands the data set on",
    "pages.audit.own_row:make_case": "the person's own row is left out or changed",
    "pages.audit.own_row:draw_values": "shows the person's own row, which was asked for",
}
EVALUATION_READS_ROWS = {
    "evaluator:baselines": "scikit-learn's models learn from them",
    "disclosure:try_in_out": "methods learn from them, and some are targets of an attack",
    "evaluator:Evaluator.train": "codes", "evaluator:Evaluator.test": "codes",
    "evaluator:Evaluator.rows": "a counter", "evaluator:Evaluator.first_rows": "for a table on the screen",
    "evaluator:Evaluator.people": "a count", "evaluator:Evaluator.compared_rows": "positions",
    "evaluator:Evaluator.fit_true_naive_bayes": "a model learns from them",
    "evaluator:Evaluator.assess_model": "a model is asked",
    "evaluator:Evaluator._mistaken": "models are asked", "evaluator:Evaluator.centers": "means and shares",
    "tree_errors:split_shares": "counted in nodes", "tree_errors:column_shares": "counted in codes",
    "reconstruction:Truth.__init__": "counted in public intervals", "reconstruction:boolean_data": "a data set of bits",
    "tree_errors:noise_and_structure": "counted in leaves",
}  # fmt: skip
# Who draws, marks a chart by itself, and makes `Statistics`. Charts that `panels.real` does not mark are of numbers of
# runs, of what runs were measured by, and of models that were made without noise.
DRAWN_BY = {
    "vega_lite_chart": {"panels:chart", "controls:epsilon_picker", "pages.mechanisms.mechanisms:beliefs.draw_icons"},
    "mark_real": {
        "panels:real", "panels:draw_release_chart", "pages.compare.sweep_results:draw_chart",
        "pages.audit.twin_worlds:draw_charts", "panels.redraw:draw_redraws",
    },
    "statistics": {"panels:real"},
    "first_rows": {"panels.summary:draw_rows"},  # tables on the screen of their owner
    "preview": {"pages.data:"},
}  # fmt: skip


@cache
def walked(source: str) -> tuple[ast.AST, ...]:
    return tuple(node for node in ast.walk(ast.parse(source)) if isinstance(node, LOOKED_AT))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


PACKAGE = python_files("dpcore")
APP = [path for path in (ROOT / "app.py",) if path.exists()] + python_files("pages")
EVERY_MODULE = {module_name(path): path for path in PACKAGE}
METHOD_FILES = {"dpcore." + place.partition(":")[0] for place in METHODS.classes.values()}


def imports(nodes: Iterable[ast.AST], module: str, *, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """Return line and absolute dotted name of every import."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{stem}.{alias.name}") for alias in node.names)


def layer(name: str) -> str:
    """Return the part of a dotted name that has a layer: a package, or "dpcore"."""
    first, *rest = name.split(".")
    return rest[0] if first == "dpcore" and rest and rest[0] in RANK else first


def inside(name: str, folder: str) -> bool:
    return f"{name}.".startswith(f"{folder}.")


def wrong_imports(source: str, module: str, *, is_package: bool = False) -> list[str]:
    own = layer(module)
    only = next((ONLY[folder] for folder in ONLY if inside(module, folder)), None)
    complaints = []
    for line, name in imports(walked(source), module, is_package=is_package):
        other = layer(name)
        if other not in RANK or (module == "app" and other != "app") or (module, name) in UP:
            continue
        if only is not None:
            allowed = any(inside(name, folder) for folder in only)
        elif module == "dpcore":
            allowed = other not in ("dashboard", "pages", "app")
        elif own == "methods" and other == "methods":  # nobody builds on another's method, and the registry loads all
            allowed = inside(name, "dpcore.methods.registry") or not any(inside(name, one) for one in METHOD_FILES)
        else:
            together = own == other != "pages" or RANK[own] == RANK[other] == 0
            allowed = together or RANK[other] < RANK[own]
        if not allowed:
            complaints.append(f"{module}, line {line}: may not import {name}")
    return complaints


def streamlit_imports(source: str, module: str) -> list[str]:
    """Return imports of Streamlit outside the dashboard, and of its private names anywhere."""
    own = () if module in USE_STREAMLITS_OWN else STREAMLITS_OWN
    wrong = own if layer(module) in ("dashboard", "pages", "app") else "streamlit"
    found = [item for item in imports(walked(source), module) if item[1].split(".")[0] == "streamlit"]
    return [f"{module}, line {line}: imports {name}" for line, name in found if name.startswith(wrong)]


def eager_imports(source: str, module: str) -> list[str]:
    """Return imports of slow or rarely used libraries that run when the module is imported."""
    nodes = walked(source)
    found = [item for item in imports(nodes, module) if item[1].split(".")[0] in ON_FIRST_USE]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and found]
    lazy = {item for function in functions for item in imports(ast.walk(function), module)}
    return [
        f"{module}, line {line}: imports {name} outside a function" for line, name in found if (line, name) not in lazy
    ]


def forbidden_calls(source: str, module: str) -> list[str]:
    """Return calls of print and uses of pickle."""
    nodes = walked(source)
    found = [(line, name) for line, name in imports(nodes, module) if set(name.split(".")) & PICKLES]
    for node in nodes:
        name = getattr(node, "id", getattr(node, "attr", getattr(node, "arg", "")))
        of_joblib = name in ("load", "dump") and ast.unparse(node) == f"joblib.{name}"
        if name in FORBIDDEN or of_joblib:
            found.append((node.lineno, name))
    return [f"{module}, line {line}: {name}" for line, name in found]


def conversions(source: str, module: str) -> list[str]:
    """Return charts drawn or converted outside `charts.specification`, by global settings."""
    complaints = []
    for node in walked(source):
        if not isinstance(node, ast.Attribute):
            continue
        receiver = node.value.id if isinstance(node.value, ast.Name) else ""
        elsewhere = layer(module) == "charts" and module != "dpcore.charts.base"
        of_chart = elsewhere or receiver in ("chart", "icons", "picture")
        if node.attr in DRAWS or (node.attr in CONVERTS and of_chart):
            complaints.append(f"{module}, line {node.lineno}: {node.attr}")
    return complaints


@cache
def scoped(source: str) -> tuple[tuple[str, ast.AST, ast.AST], ...]:
    """Return names, attributes, functions and texts with their class, function and context."""
    kinds = (ast.Attribute, ast.Name, ast.FunctionDef, ast.Constant)
    found: list[tuple[str, ast.AST, ast.AST]] = []
    waiting: list[tuple[ast.AST, tuple[str, ...]]] = [(ast.parse(source), ())]
    while waiting:
        node, clique = waiting.pop()
        for child in ast.iter_child_nodes(node):
            defines = isinstance(child, ast.FunctionDef | ast.ClassDef) and len(clique) < 2
            inner = (*clique, child.name) if defines else clique
            if isinstance(child, kinds):
                found.append((".".join(inner), child, node))
            waiting.append((child, inner))
    return tuple(found)


def rows_read(source: str) -> Iterator[tuple[str, int, str]]:
    """Return where rows of a data set are read, except for their number and headers."""
    for clique, node, above in scoped(source):
        if isinstance(node, ast.Constant) and node.value in ROWS and not isinstance(above, ast.keyword):
            yield clique, node.lineno, ""  # by the name of the attribute
        if not isinstance(node, ast.Attribute) or node.attr not in ROWS | OF_ROWS:
            continue
        called, receiver = above.func if isinstance(above, ast.Call) else None, ast.unparse(node.value)
        counted = isinstance(called, ast.Name) and called.id == "len"
        fitted = isinstance(called, ast.Attribute) and called.attr == "fit" and node.attr == "train"
        shape = isinstance(above, ast.Attribute) and above.attr in ("columns", "shape")
        other = (node.attr == "frame" and called is node) or receiver in ("made", "offer")
        other |= node.attr in OF_ROWS and not receiver.endswith("rows")
        if not (counted or fitted or shape or other):
            yield clique, node.lineno, f"{receiver}.{node.attr}"


def screens_of_rows(source: str, module: str) -> list[str]:
    """Return uses of real rows in the dashboard that should be counts and means of `evaluate`."""
    if layer(module) not in ("dashboard", "pages", "app"):
        return []
    index = module.removeprefix("dpcore.dashboard.")
    found = []
    for clique, line, taken in rows_read(source):
        known = index in READS_ROWS or f"{index}:{clique}" in READS_ROWS
        if not known and not taken.startswith("sample()."):  # the sample is a release
            found.append(f"{module}, line {line}: takes rows")
    for clique, node, _ in scoped(source):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if f"{index}:{clique}" not in DRAWN_BY.get(name, {f"{index}:{clique}"}):
            found.append(f"{module}, line {node.lineno}: {name}")
        if isinstance(node, ast.FunctionDef) and node.name == "sample" and index != "pages.attacks.attack_steps":
            found.append(f"{module}, line {node.lineno}: another sample")
    return found


def evaluation_of_rows(source: str, module: str) -> list[str]:
    """Return reads of real rows in `evaluate` outside `EVALUATION_READS_ROWS`."""
    index = module.removeprefix("dpcore.evaluate.")
    found = rows_read(source) if index != module else ()
    codes = {"self.train", "self.test", "evaluator.train", "evaluator.test"}  # and blocks are of codes, too
    return [
        f"{module}, line {line}: takes rows"
        for clique, line, taken in found
        if taken.rpartition(".")[2] in ("", "train", "test", "train_sample", "test_sample", "given")
        and taken not in codes
        if f"{index}:{clique}" not in EVALUATION_READS_ROWS
    ]


def backward_imports(source: str, module: str) -> list[str]:
    """Return imports of a page by shared modules of the dashboard, or by another page."""
    folder, found = "dpcore.dashboard.pages.", []
    if module.startswith("dpcore.dashboard"):
        own = ".".join(module.split(".")[:4]) if module.startswith(folder) else ""
        for line, name in imports(walked(source), module):
            if name.startswith(folder) and not f"{name}.".startswith(f"{own}." if own else " "):
                found.append(f"{module}, line {line}: imports {name}")
    return found


def too_long(source: str, module: str) -> list[str]:
    limit = MAX_LINES.get(module.split(".")[0], math.inf)
    lines = len(source.splitlines())
    return [f"{module}: {lines} lines, at most {limit} are allowed"] if lines > limit else []


Rule = Callable[[str, str], list[str]]  # from source and the module's name to complaints
RULES: list[Rule] = [streamlit_imports, eager_imports, forbidden_calls, conversions, too_long]
RULES += [screens_of_rows, evaluation_of_rows, backward_imports]


@pytest.mark.listed
def test_source() -> None:
    complaints = []
    for path in PACKAGE + APP:
        source, module = path.read_text(encoding="utf-8"), module_name(path)
        complaints += wrong_imports(source, module, is_package=path.stem == "__init__")
        complaints += [complaint for rule in RULES for complaint in rule(source, module)]
    for path in python_files("scripts"):  # benchmarks time pages as well
        complaints += streamlit_imports(path.read_text(encoding="utf-8"), module_name(path))
    assert not complaints, "\n".join(complaints)


@pytest.mark.listed
def test_every_room_has_a_layer_and_a_line_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {module.split(".")[1] for module in EVERY_MODULE if module != "dpcore"}
    assert rooms <= set(RANK)
    assert [room for room in rooms if not re.search(rf"\b{room}\b", text)] == []
    assert len(list((ROOT / "dpcore").glob("*.py"))) <= 5


@pytest.mark.listed
def test_no_module_imports_itself_in_a_cycle() -> None:
    """Imports under `TYPE_CHECKING` and inside functions count."""
    graph = {}
    for module, path in EVERY_MODULE.items():
        nodes = walked(path.read_text(encoding="utf-8"))
        names = {
            name for _, name in imports(nodes, module, is_package=path.stem == "__init__") if (module, name) not in UP
        }
        owners = {name if name in EVERY_MODULE else name.rpartition(".")[0] for name in names}
        graph[module] = owners & set(EVERY_MODULE)
    TopologicalSorter(graph).prepare()


def silent(kind: type) -> list[str]:
    """Return public methods without a docstring that override none with one."""
    own = [name for name, it in vars(kind).items() if isinstance(it, DEFINED) and not name.startswith("_")]
    own = [name for name in own if getattr(vars(kind)[name], "__name__", "") != "<lambda>"]
    return [name for name in own if not any(getattr(vars(one).get(name), "__doc__", None) for one in kind.__mro__)]


@pytest.mark.listed
def test_all_names_exist_and_public_methods_say_what_they_do() -> None:
    for module in sorted(EVERY_MODULE):
        loaded = importlib.import_module(module)
        names = getattr(loaded, "__all__", [])
        assert [name for name in names if not hasattr(loaded, name)] == [], module
        assert len(set(names)) == len(names), module
        kinds = [kind for kind in vars(loaded).values() if isinstance(kind, type)]
        found = {kind.__qualname__: silent(kind) for kind in kinds if kind.__module__ == module and silent(kind)}
        assert not found, module


BROKEN = {  # by rule: a module, and what it may not have
    wrong_imports: [
        ("dpcore.domain.schema", "def f():\n    import dpcore.evaluate"),
        ("dpcore.postprocess.simplex", "from dpcore.errors import DPCoreError"),
        ("dpcore.datasets.worker", "from dpcore.datasets.reading import read_frame"),
        ("dpcore.methods.trees.one", "from .id3 import SuLQID3"),
        ("dpcore", "from dpcore import dashboard"),
        ("pages.a", "from pages import b"),
    ],
    streamlit_imports: [
        ("dpcore.charts", "def f():\n    import streamlit as st"),
        ("pages.a", "from streamlit import runtime"),
    ],
    eager_imports: [("dpcore.mechanisms.noise", "try:\n    import opendp.prelude\nfinally:\n    pass")],
    forbidden_calls: [
        ("dpcore.accounting.ledger", "print(1)"),
        ("dpcore.export.archive", "from pickle import loads"),
        ("dpcore.export.archive", "np.load('x', allow_pickle=True)"),
        ("dpcore.export.archive", "joblib.dump(1, 'x')"),
    ],
    conversions: [("dpcore.export.report", "chart.to_dict()")],
    screens_of_rows: [
        ("dpcore.dashboard.panels", "def rows(shown):\n    ages = getattr(shown.data, 'train')['age']"),
        ("dpcore.dashboard.panels", "def chart(rows):\n    kept = list(rows.blocks([0]))"),
        ("dpcore.dashboard.panels.redraw", "def f(shown):\n    charts.mark_real(charts.steps(frame))"),
        ("dpcore.dashboard.pages.attacks.linkage", "def sample():\n    return session.dataset()"),
        ("dpcore.dashboard.panels", "def columns(shown):\n    f = evaluator(shown).first_rows(names, 99)"),
        ("pages.data", "st.dataframe(rows.frame.head(20))"),
    ],
    evaluation_of_rows: [
        ("dpcore.evaluate.evaluator", "class Evaluator:\n    def low(self):\n        self.data.train.min()")
    ],
    too_long: [("pages.a", "\n" * 91)],
}
KEPT = {
    wrong_imports: [
        ("dpcore.methods.one", "from dpcore.postprocess import simplex\nfrom dpcore.methods.base import Synthesizer"),
        ("pages.a", "from dpcore import Schema, charts\nfrom dpcore.dashboard import shell"),
    ],
    screens_of_rows: [
        ("dpcore.dashboard.panels", "def rows(shown):\n    many = len(shown.data.test)\n    shell.frame(title, lead)"),
        ("dpcore.dashboard.panels", "def f(data):\n    method.fit(data.train, schema=data.schema)"),
        ("dpcore.dashboard.pages.attacks.linkage", "def f():\n    return linkage.coded(sample().train)"),
        ("pages.data", "headers = [str(name) for name in rows.frame.columns]"),
    ],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_rules_can_fail(rule: Rule) -> None:
    for module, source in BROKEN[rule]:
        assert len(rule(source, module)) == 1, (module, source)
    for module, source in KEPT.get(rule, []):
        assert rule(source, module) == [], (module, source)


@pytest.mark.listed
def test_every_module_allowed_to_read_rows_reads_them() -> None:
    """An unused permission must be removed."""
    for module, known in (("dpcore.dashboard", READS_ROWS), ("dpcore.evaluate", EVALUATION_READS_ROWS)):
        taken = set()
        for name, path in EVERY_MODULE.items():
            if inside(name, module):
                index = name.removeprefix(f"{module}.")
                taken |= {f"{index}:{clique}" for clique, *_ in rows_read(path.read_text(encoding="utf-8"))} | {index}
        assert known.keys() <= taken, module


@pytest.mark.listed
def test_every_mechanism_has_a_case_among_the_tests_of_mechanisms() -> None:
    """Scores are tested on all small neighbors, channels against their draws, formats by files."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in python_files("tests/mechanisms"))
    kinds = [getattr(room, name) for room in (scores, randomizers) for name in room.__all__]
    concrete = {kind.__name__ for kind in kinds if isinstance(kind, type) and not inspect.isabstract(kind)}
    untested = [name for name in concrete - {"Bounds", "Channel"} if not re.search(rf"\b{name}\(", text)]
    assert not untested, f"no test in tests/mechanisms makes one: {', '.join(untested)}"
    text = "\n".join(path.read_text(encoding="utf-8") for path in python_files("tests/datasets"))
    untested = [name for name in FORMATS if not re.search(rf"\.{re.escape(name)}\b", text)]
    assert not untested, f"no test in tests/datasets reads one, or refuses a damaged one: {', '.join(untested)}"


@pytest.mark.listed
def test_planted_faults_fit_the_source() -> None:
    stale = {fault.id: complaint for fault in mutants.read(mutants.FAULTS) if (complaint := fault.complaint(ROOT))}
    assert not stale, "\n".join(["scripts/mutants.toml:", *(f"{name!r}: {why}" for name, why in stale.items())])


def pins(lock: str) -> dict[str, set[str]]:
    """Return the versions that a lock file pins, by package."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / lock).read_text("utf-8"), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found


@pytest.mark.listed
def test_locks_agree_with_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    run, dev, site = (pins(f"requirements{which}.lock") for which in ("", "-dev", "-docs"))
    assert run.items() <= dev.items()
    assert run.items() <= site.items()
    assert {need: site[need] for need in site.keys() & dev.keys()}.items() <= dev.items()  # both go into .venv
    needs = project["optional-dependencies"] | {"": project["dependencies"]}
    locks = {"dev": dev, "docs": site}
    for extra, wanted in needs.items():
        assert {re.split(r"[<>=]", need)[0] for need in wanted} <= set(locks.get(extra, run)), extra


@pytest.mark.listed
def test_links_of_documents_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8"))
        assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == [], path
