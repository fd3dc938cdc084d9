"""Write what follows from the registry: stubs for type checkers, the README's table of methods, and their handbook."""

import sys
from inspect import getdoc
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import dpcore as dp  # noqa: E402
from dpcore.methods.base import PrivateEstimator  # noqa: E402
from dpcore.methods.parameters import Parameter  # noqa: E402

README = ROOT / "README.md"
BOOK = ROOT / "docs" / "methods.md"
TABLE = """\
| method | paper | modes | relations | as printed, provable | corrected | good for |
| --- | --- | --- | --- | --- | --- | --- |
"""
HEAD = '"""Written by scripts/registry.py: the names that are imported when they are used."""\n\n# ruff: noqa\n'


HANDBOOK = """\
# Methods: what is printed, and what was corrected

Every method in its own module's words, which stand beside its code: what it does as printed and corrected, what is
public, why its questions cost what the ledger says, and where its source is wrong. Papers: 000 naive-Bayes synthetic
data; 001 HMPrivBayes; 002 a patent on taxonomy trees; 003 DiffPRFs; 004 ERRPH and TRR. Why this project's own choices
are as they are: [PrivBayes refined](decisions/0009-privbayes-refined.md), [trees](decisions/0011-private-trees.md),
[randomized responses](decisions/0012-randomized-responses.md).

Synthesizers have `fit`, `sample` and `ledger_`. Classifiers have `predict`, `predict_proba` and `score`; they work in
scikit-learn's `Pipeline`, `cross_val_score` and `GridSearchCV`, where every fit is charged. With a local method people
randomize their own answers before anybody collects them: epsilon is the price of all answers of one person, under
`replace` only; reports with a finite epsilon and no known seed can be downloaded, and what is learned from them costs
nothing more: `dpcore.export.Collection.read("reports.csv", "rules.json").learn(dp.PPNB())` needs no row. The rules
stand alone as `dp.ERRPH`, `dp.RRPH`, `dp.Warner`, `dp.TRR`, `dp.OUE` and `dp.OLH`: probabilities or epsilon in;
channel, variance and local epsilon out.

If the schema's `unit` has a column that says whose row it is, `fit` cuts the rows of each person to so many and epsilon
is for the person, whichever the method ([why](decisions/0017-persons.md)).

All methods may be given these; what else one may be given, or what it restricts, stands with it.
"""
FAMILIES = {
    "naive_bayes": "Synthetic rows from naive Bayes",
    "networks": "Synthetic rows from networks",
    "taxonomy": "Counts and rows of groups",
    "forests": "Trees and forests",
    "responses": "Classifiers from randomized responses",
}


def written() -> dict[Path, str]:
    """Both stubs, the README and the handbook, by their paths."""
    methods = "\n".join(
        [
            HEAD,
            "from dpcore.methods.base import PrivateEstimator",
            *exported(dp.METHODS.classes),
            "from dpcore.methods.registry import Registry",
            "\nMETHODS: Registry[type[PrivateEstimator]]\n",
        ]
    )
    door = "\n".join([HEAD, *exported({**dp.PLACES, **dp.METHODS.classes}), "\n__version__: str\n"])
    package = ROOT / "dpcore"
    return {
        package / "methods" / "__init__.pyi": methods,
        package / "__init__.pyi": door,
        README: readme(),
        BOOK: handbook(),
    }


def readme() -> str:
    """The README with its table of methods."""
    text = README.read_text(encoding="utf-8")
    start = text.index(TABLE)
    rows = "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in map(row, dp.METHODS))
    return text[: start + len(TABLE)] + rows + text[text.index("\n\n", start) + 1 :]


def handbook() -> str:
    """All methods, by the dashboard's pages: what their modules say, and their parameters."""
    parts = [HANDBOOK, *parameters(PrivateEstimator.parameters())]
    for page, title in FAMILIES.items():
        parts += [f"## {title}", ""]
        modules: dict[str, list[str]] = {}
        for name in dp.METHODS:
            if dp.METHODS[name].page == page:
                modules.setdefault(dp.METHODS[name].__module__, []).append(name)
        for module, names in modules.items():
            parts += chapter(module, names)
    return "\n".join(parts)


def chapter(module: str, names: list[str]) -> list[str]:
    """What a module says of itself, and what its methods may be given besides what all may be."""
    lines = [f"### {', '.join(names)}", "", "```text", getdoc(sys.modules[module]) or "", "```", ""]
    for name in names:
        kind, usual = dp.METHODS[name], PrivateEstimator.parameters()
        own = {each: declared for each, declared in kind.parameters().items() if declared != usual.get(each)}
        lines += [f"`dp.{kind.__name__}`", "", *parameters(own)]
    return lines


def parameters(declared: dict[str, Parameter]) -> list[str]:
    """A table of them."""
    lines = ["| parameter | kind | default | what it is |", "| --- | --- | --- | --- |"]
    for name, parameter in declared.items():
        cells = [f"`{name}`", parameter.kind, f"`{parameter.default!r}`", parameter.about]
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return [*lines, ""]


def row(name: str) -> list[str]:
    """What the table says of a method."""
    method = dp.METHODS[name]
    printed = "printed (reconstructed)" if method.reconstructed else "printed"
    modes = [{"paper": printed, "corrected": "corrected"}[mode] for mode in reversed(method.modes)]
    relations = [{"add_remove": "add", "replace": "replace"}[relation] for relation in method.relations]
    proofs = [method.provable_printed, method.provable if "corrected" in method.modes else ""]
    return [name, method.paper or "(own)", ", ".join(modes), ", ".join(relations), *proofs, method.good_for]


def exported(places: dict[str, str]) -> list[str]:
    """Lines that import names from their places."""
    lines = []
    for name, place in places.items():
        module, _, inside = place.partition(":")
        above, _, last = f"dpcore.{module}".rpartition(".")
        source, its = (f"dpcore.{module}", inside) if inside else (above, last)
        lines.append(f"from {source} import {its} as {name}")
    return sorted(lines)


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
