"""Build the documentation site in build/docs/site from docs/, other documents and docstrings.

Pages are staged at the same paths as in the project, so that links work in both. Generated pages
are added: one per module of methods, and one per public part of the package. The site must be
self-contained: a script, style or font from another host stops the build.
"""

import re
import shutil
import subprocess
import sys
from inspect import getdoc
from pathlib import Path
from types import ModuleType

import dpcore as dp
from dpcore.domain import statistic
from dpcore.methods import base
from dpcore.methods.base import PrivateClassifier, PrivateEstimator, Synthesizer

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "docs"
PAGES = BUILD / "pages"
FAMILIES = {
    "naive_bayes": "Synthetic rows from naive Bayes",
    "networks": "Synthetic rows from networks",
    "taxonomy": "Counts and rows of groups",
    "forests": "Trees and forests",
    "responses": "Classifiers from randomized responses",
}
PARTS = ("datasets", "evaluate", "risk", "audit", "experiment", "export", "models")
FETCHED = re.compile(
    r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?:https?:)?//[^"'\s>]+|url\(["']?https?://"""
)


def main() -> int:
    """Stage and build the site, and check that it is self-contained; return the exit code."""
    stage()
    build = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(BUILD / "zensical.toml")]
    if code := subprocess.run(build, check=False).returncode:
        return code
    for path in sorted((BUILD / "site").rglob("*.[hc]*")):
        if path.suffix in (".html", ".css") and (found := FETCHED.search(path.read_text(encoding="utf-8"))):
            print(f"{path.relative_to(BUILD)} would fetch {found[0]}", file=sys.stderr)
            return 1
    print(f"Open {(BUILD / 'site' / 'index.html').relative_to(ROOT)} in a browser.")
    return 0


def stage() -> None:
    """Write all pages and the configuration below build/docs."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES / "docs", ignore=shutil.ignore_patterns("*.toml"))
    for path in (*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md"), ROOT / "LICENSE"):
        position = PAGES / path.relative_to(ROOT)
        position.parent.mkdir(exist_ok=True)
        shutil.copy(path, position)
    written = {"methods": methods(), "api": parts()}
    for folder, pages in written.items():
        for name, text in pages.items():
            (PAGES / "docs" / folder / f"{name}.md").write_text(text, encoding="utf-8")
    lists = {position: [f"docs/{position}/{name}.md" for name in pages] for position, pages in written.items()}
    text = (ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8").replace("[root]", ROOT.as_posix())
    for position, names in lists.items():
        text = text.replace(f'"[{position}]"', ", ".join(f'"{name}"' for name in names))
    (BUILD / "zensical.toml").write_text(text, encoding="utf-8")


def methods() -> dict[str, str]:
    """Return a page for each module of methods, by file name; list all in the staged index."""
    pages: dict[str, str] = {}
    listed = table(rows(PrivateEstimator))
    modules: dict[str, list[str]] = {}
    for name in dp.METHODS:
        modules.setdefault(dp.METHODS[name].__module__, []).append(name)
    for family, title in FAMILIES.items():
        listed += [f"## {title}", ""]
        for module, names in modules.items():
            if dp.METHODS[names[0]].page != family:
                continue
            page = module.rpartition(".")[2].replace("_", "-")
            pages[page] = chapter(module, names)
            best_for = "; ".join(dp.METHODS[name].best_for for name in names)
            listed.append(f"- [{', '.join(names)}]({page}.md): {best_for}")
        listed.append("")
    index("methods", listed)
    return pages


def chapter(module: str, names: list[str]) -> str:
    """Return a module's page: its docstring, and tables of its methods' own parameters."""
    title, *text = docstring_lines(sys.modules[module])
    lines = ["---", "hide: [toc]", "---", "", f"# {', '.join(names)}", "", title, ""]
    lines += ["```text", "\n".join(text).strip("\n"), "```", ""]
    for name in names:
        kind, usual = dp.METHODS[name], rows(PrivateEstimator)
        lines += [f"## `dp.{kind.__name__}`", "", *table([row for row in rows(kind) if row not in usual])]
    lines.append("All methods have [these parameters](index.md), and [fit and its like](../api/methods.md).")
    return "\n".join(lines) + "\n"


def rows(kind: type[PrivateEstimator]) -> list[str]:
    """Return the rows of a Markdown table with a class's parameters."""
    said, known = kind.descriptions(), kind.parameters().items()
    cells = ([f"`{name}`", parameter.kind, f"`{parameter.default!r}`", said[name][1]] for name, parameter in known)
    return [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in cells]


def table(rows: list[str]) -> list[str]:
    """Return a Markdown table of parameters, by lines; empty if there are no rows."""
    return ["| parameter | kind | default | what it is |", "| --- | --- | --- | --- |", *rows, ""] if rows else []


def parts() -> dict[str, str]:
    """Return a page for `dp`, for all methods' base classes, and for each public part.

    The pages are listed in the staged index.
    """
    plain = [name for name in dp.__all__ if name not in (*PARTS, *dp.METHODS.classes, "ask")]
    modules = {"dpcore": dp, "methods": base, "statistics": statistic} | {part: getattr(dp, part) for part in PARTS}
    kinds = (PrivateEstimator, Synthesizer, PrivateClassifier)
    names = {
        "dpcore": plain,
        "methods": [f"{kind.__module__}.{kind.__name__}" for kind in kinds],
        "statistics": ["dpcore.methods.statistics.ask", "dpcore.methods.statistics.StatisticsRequest"],
    }
    titles = {"dpcore": "Names of dp", "methods": "What all methods can do", "statistics": "dp.ask and its statistics"}
    pages: dict[str, str] = {}
    listed = []
    for name, module in modules.items():
        title = titles.get(name, f"dp.{name}")
        pages[name] = reference(title, module, names.get(name) or getattr(module, "__all__", None))
        listed.append(f"- [{title}]({name}.md): {docstring_lines(module)[0]}")
    index("api", listed)
    return pages


def reference(title: str, module: ModuleType, names: list[str] | None) -> str:
    """Return a page for mkdocstrings: of `names` in a module, or of everything public in it."""
    if names is None:
        return f"# {title}\n\n::: {module.__name__}\n    options:\n      show_root_heading: false\n"
    blocks = (f"::: {name if '.' in name else f'{module.__name__}.{name}'}\n" for name in names)
    return "\n".join([f"# {title}", "", *docstring_lines(module), "", *blocks])


def docstring_lines(module: ModuleType) -> list[str]:
    """Return a module's docstring by lines."""
    return (getdoc(module) or "").splitlines()


def index(folder: str, lines: list[str]) -> None:
    """Append a list of pages to a folder's staged index."""
    path = PAGES / "docs" / folder / "index.md"
    path.write_text(path.read_text(encoding="utf-8") + "\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
