"""Build the documentation, from docs/, the documents beside it, and docstrings, as a site in build/docs/site.

Pages are staged where they stand in the project, so that links lead to the same files here and there. What the code
says of itself is written beside them: a page for each module of methods, and one for each public part of the package.
The site fetches nothing when it is read: a script, style or font from elsewhere ends the build.
"""

import re
import shutil
import subprocess
import sys
from importlib import import_module
from inspect import getdoc
from pathlib import Path

import dpcore as dp
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.parameters import Parameter

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
FETCHED = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?:https?:)?//[^"'\s>]+|url\(["']?https?://""")


def main() -> int:
    """Stage, build, and look at what was built; the exit code."""
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
    """All pages and the configuration, below build/docs."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES / "docs", ignore=shutil.ignore_patterns("*.toml"))
    for path in (*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md"), ROOT / "LICENSE"):
        place = PAGES / path.relative_to(ROOT)
        place.parent.mkdir(exist_ok=True)
        shutil.copy(path, place)
    written = {"methods": methods(), "api": parts()}
    for folder, pages in written.items():
        for name, text in pages.items():
            (PAGES / "docs" / folder / f"{name}.md").write_text(text, encoding="utf-8")
    lists = {place: [f"docs/{place}/{name}.md" for name in pages] for place, pages in written.items()}
    lists["decisions"] = sorted(f"docs/decisions/{path.name}" for path in (ROOT / "docs" / "decisions").glob("*.md"))
    text = (ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8").replace("[root]", ROOT.as_posix())
    for place, names in lists.items():
        text = text.replace(f'"[{place}]"', ", ".join(f'"{name}"' for name in names))
    (BUILD / "zensical.toml").write_text(text, encoding="utf-8")


def methods() -> dict[str, str]:
    """A page for each module of methods, in the order of the dashboard's pages, and the list of them all."""
    pages: dict[str, str] = {}
    listed = [(PAGES / "docs" / "methods" / "index.md").read_text(encoding="utf-8")]
    listed += parameters(PrivateEstimator.parameters())
    for family, title in FAMILIES.items():
        modules: dict[str, list[str]] = {}
        for name in dp.METHODS:
            if dp.METHODS[name].page == family:
                modules.setdefault(dp.METHODS[name].__module__, []).append(name)
        listed += [f"## {title}", ""]
        for module, names in modules.items():
            page = module.rpartition(".")[2].replace("_", "-")
            pages[page] = chapter(module, names)
            listed.append(f"- [{', '.join(names)}]({page}.md): {'; '.join(dp.METHODS[name].good_for for name in names)}")
        listed.append("")
    (PAGES / "docs" / "methods" / "index.md").write_text("\n".join(listed), encoding="utf-8")
    return pages


def chapter(module: str, names: list[str]) -> str:
    """What a module says of itself, and what its methods may be given besides what all may be."""
    title, _, text = (getdoc(sys.modules[module]) or "").partition("\n")
    lines = ["---", "hide: [toc]", "---", "", f"# {', '.join(names)}", "", title, "", "```text", text.strip("\n"), "```", ""]
    for name in names:
        kind, usual = dp.METHODS[name], PrivateEstimator.parameters()
        own = {each: declared for each, declared in kind.parameters().items() if declared != usual.get(each)}
        lines += [f"## `dp.{kind.__name__}`", "", *parameters(own)]
        lines += ["The parameters that all methods have are [here](index.md); what it can do is [there](../api/methods.md)."]
        lines += [""]
    return "\n".join(lines)


def parameters(declared: dict[str, Parameter]) -> list[str]:
    """A table of them."""
    lines = ["| parameter | kind | default | what it is |", "| --- | --- | --- | --- |"]
    for name, parameter in declared.items():
        cells = [f"`{name}`", parameter.kind, f"`{parameter.default!r}`", parameter.about]
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return [*lines, ""] if declared else []


def parts() -> dict[str, str]:
    """A page for the names of `dpcore` itself, one for what all methods can do, and one for each public part of it."""
    plain = [name for name in dp.__all__ if name not in (*PARTS, *dp.METHODS.classes)]
    pages = {"dpcore": reference("dpcore", plain)}
    base = ("PrivateEstimator", "Synthesizer", "PrivateClassifier")
    pages["methods"] = reference("dpcore.methods.base", [name for name in base])
    for part in PARTS:
        module = import_module(getattr(dp, part).__name__)
        names = getattr(module, "__all__", None)
        pages[part] = reference(module.__name__, names, f"dp.{part}")
    return pages


def reference(module: str, names: list[str] | None, title: str = "") -> str:
    """What mkdocstrings makes a page of."""
    said = (getdoc(sys.modules[module]) or "").strip()
    lines = [f"# {title or module}", "", said, ""]
    if names is None:
        return "\n".join([*lines, f"::: {module}", "    options:", "      show_root_heading: false", ""])
    return "\n".join([*lines, *(f"::: {module}.{name}\n" for name in names)])


if __name__ == "__main__":
    sys.exit(main())
