"""Write the files that follow from the registry: type stubs, README table, JSON Schema."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import dpcore as dp  # noqa: E402
from scripts.config_schema import schema_text  # noqa: E402

README = ROOT / "README.md"
TABLE = """\
| method | paper | as published: proven at most | corrected: proven | best for |
| --- | --- | --- | --- | --- |
"""
HEAD = '"""Written by scripts/registry.py: the names that are imported when they are used."""\n\n# ruff: noqa\n'


def generated_files() -> dict[Path, str]:
    """Return the text of each generated file by its path."""
    methods = "\n".join(
        [
            HEAD,
            "from dpcore.methods.base import PrivateEstimator",
            *import_lines(dp.METHODS.classes),
            "from dpcore.methods.registry import Registry",
            "\nMETHODS: Registry[type[PrivateEstimator]]\n",
        ]
    )
    door = "\n".join([HEAD, *import_lines({**dp.LOCATIONS, **dp.METHODS.classes}), "\n__version__: str\n"])
    package = ROOT / "dpcore"
    return {
        package / "methods" / "__init__.pyi": methods,
        package / "__init__.pyi": door,
        README: readme(),
        ROOT / "docs" / "config.schema.json": schema_text(),
    }


def readme() -> str:
    """Return the README with a new table of methods."""
    text = README.read_text(encoding="utf-8")
    start = text.index(TABLE)
    rows = "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in map(row, dp.METHODS))
    return text[: start + len(TABLE)] + rows + text[text.index("\n\n", start) + 1 :]


def row(name: str) -> list[str]:
    """Return the cells of a method's row in the README's table."""
    method = dp.METHODS[name]
    proofs = [method.provable_published, method.provable if "corrected" in method.modes else ""]
    source = method.reference.replace(" et al.", "")
    paper = method.paper or ("own" if source.startswith("dpcore") else source)
    return [name, paper, *proofs, method.best_for]


def import_lines(modules: dict[str, str]) -> list[str]:
    """Return import statements for names, by the module that defines each."""
    lines = []
    for name, index in modules.items():
        module, _, inside = index.partition(":")
        above, _, last = f"dpcore.{module}".rpartition(".")
        source, its = (f"dpcore.{module}", inside) if inside else (above, last)
        lines.append(f"from {source} import {its} as {name}")
    return sorted(lines)


if __name__ == "__main__":
    for path, text in generated_files().items():
        path.write_text(text, encoding="utf-8")
