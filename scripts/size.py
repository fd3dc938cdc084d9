"""Count the code by package; a count may fall, and rises only within an allowance.

    make size                        show counts, targets and allowances; write down what fell
    python -m scripts.size --check   the same, and nothing is written

Counted are lines of code, without blank lines, comments, docstrings and imports. Counted are also
the statements of the syntax tree, with expressions that do a statement's work: denser lines save
nothing. For tests, all lines count. The share of lines in `dpcore` that are longer than 100
characters may not rise.

`scripts/size.toml` has the recorded counts. A change that needs more code adds an allowance with
its reason there; `make size` then records the rise. All rises of an area together stay within its
allowances.
"""

import argparse
import ast
import math
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "scripts" / "size.toml"
FOLDERS = ("dpcore", "pages", "scripts", "benchmarks", "tests")
LONG = 100
UNITS = ("lines", "statements")
# Each of these expressions counts as a statement, so that dense lines save nothing.
STATEMENTS = (ast.stmt, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.comprehension)
QUOTED = re.compile(rb"""[rfbuRFBU]*('''|\"\"\")""")
COUNTS = """\
# What was counted; `make size` writes all below this line.
[shares]
long = {long}

[counts] # at the start, now, and all rises in between: lines and statements
{rows}"""
Counts = dict[str, tuple[int, int]]


class Record(NamedTuple):
    """Counts of an area: at the start, as recorded last, and the sum of all rises in between."""

    base: tuple[int, int] = (0, 0)
    now: tuple[int, int] = (0, 0)
    risen: tuple[int, int] = (0, 0)


class SizeFile(NamedTuple):
    """Content of `size.toml`; `heading` is its part that is written by hand."""

    heading: str
    targets: dict[str, int]
    allowances: list[dict[str, Any]]
    records: dict[str, Record]
    long: float

    def allowance(self, area: str, unit: str) -> int:
        """Return by how much an area may rise in all, in "lines" or "statements"."""
        return sum(one[unit] for one in self.allowances if one["area"] == area)


def count(source: str) -> tuple[int, int]:
    """Return the lines of code and the statements of a source text."""
    nodes, lines = list(ast.walk(ast.parse(source))), source.splitlines()
    code = {number for number, line in enumerate(lines, 1) if not re.match(r"\s*(#|$)", line)}
    left_out = []
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out.append(node)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            left_out += [node.body[0]] if node.body and is_text(node.body[0]) else []
        elif isinstance(node, ast.JoinedStr | ast.Constant) and (node.end_lineno or 0) > node.lineno:
            in_full = QUOTED.match(lines[node.lineno - 1].encode()[node.col_offset :])
            code.update(range(node.lineno, (node.end_lineno or 0) + 1) if in_full else ())  # a text's blank lines, too
    none = {line for node in left_out for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    return len(code - none), sum(isinstance(node, STATEMENTS) for node in nodes) - len(left_out)


def is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a text: a docstring, if it is the first one."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def area_of(path: Path) -> str:
    """Return the area of a file: a package, `dpcore`, `pages` with `app.py`, or a folder."""
    first, *rest = path.parts
    if first == "app.py":
        return "pages"
    return f"{first}/{rest[0]}" if first == "dpcore" and len(rest) > 1 else first


def files(root: Path) -> Iterator[Path]:
    """Yield all counted Python files, relative to the root."""
    found = sorted(path.relative_to(root) for folder in FOLDERS for path in (root / folder).rglob("*.py"))
    yield from (path for path in found if "node_modules" not in path.parts)
    yield Path("app.py")


def measure(root: Path = ROOT) -> tuple[Counts, float]:
    """Return the counts of each area, and the percentage of long lines in `dpcore`, rounded up."""
    counts: Counts = {}
    long = every = 0
    for path in files(root):
        source = (root / path).read_text(encoding="utf-8")
        text = source.splitlines()
        lines, statements = (len(text), 0) if path.parts[0] == "tests" else count(source)
        if path.parts[0] == "dpcore":
            long += sum(len(line) > LONG for line in text)
            every += sum(bool(line.strip()) for line in text)
        before = counts.get(area_of(path), (0, 0))
        counts[area_of(path)] = before[0] + lines, before[1] + statements
    return counts, math.ceil(1_000 * long / max(every, 1)) / 10


def parse(text: str) -> SizeFile:
    """Return the content of `size.toml`."""
    if "<<<<<<<" in text:
        raise SystemExit("size.toml has two versions: `git checkout --ours scripts/size.toml`, then `make size`.")
    found = tomllib.loads(text)
    heading = text.partition(COUNTS.splitlines()[0])[0]
    records = {area: Record(*map(tuple, row)) for area, row in found["counts"].items()}
    return SizeFile(heading, found["targets"], found.get("allowance", []), records, found["shares"]["long"])


def faults(counts: Counts, long: float, file: SizeFile) -> list[str]:
    """Return a line for each count that is larger than allowed."""
    found = []
    for area in sorted(counts.keys() | file.records.keys()):
        base, before, risen = file.records.get(area, Record())
        more = [max(0, new - old) for new, old in zip(counts.get(area, (0, 0)), before, strict=True)]
        left = [file.allowance(area, unit) - rise for unit, rise in zip(UNITS, risen, strict=True)]
        if any(old > start + rise for old, start, rise in zip(before, base, risen, strict=True)):
            found.append(f"{area}: its count was written down by hand; `git checkout` it")
        if any(rise > rest for rise, rest in zip(more, left, strict=True)):
            found.append(
                f"{area} has {more[0]:,} lines and {more[1]:,} statements more than are written down; its allowances "
                f"leave {left[0]:,} and {left[1]:,}: shorten it, or say why in an [[allowance]] of scripts/size.toml"
            )
    if long > file.long:
        share = f"{long}% of the lines in dpcore are longer than {LONG} characters, and {file.long}% may be"
        found.append(f"{share}: break long lines of the change")
    return found


def differences(counts: Counts, long: float, file: SizeFile) -> list[str]:
    """Return a line for each count that differs from the recorded one."""
    records = {area: record.now for area, record in file.records.items()}
    found = []
    for area in sorted(counts.keys() | records.keys()):
        before, now = records.get(area, (0, 0)), counts.get(area, (0, 0))
        if before != now:
            found.append(f"{area}: {before[0]:,} -> {now[0]:,} lines, {before[1]:,} -> {now[1]:,} statements")
    return found + ([f"lines longer than {LONG}: {file.long}% -> {long}%"] if long < file.long else [])


def render(counts: Counts, long: float, file: SizeFile) -> str:
    """Return `size.toml` with the new counts; a rise beyond the allowances is left out."""
    rows = []
    for area in sorted(counts.keys() | file.records.keys()):
        base, before, risen = record = file.records.get(area, Record())
        now = counts.get(area, (0, 0))
        rises = [old + max(0, new - last) for old, new, last in zip(risen, now, before, strict=True)]
        fits = all(rise <= file.allowance(area, unit) for rise, unit in zip(rises, UNITS, strict=True))
        new = (base, now, rises) if fits else record
        if any(new[1]):
            rows.append(f'"{area}" = [{", ".join(map(str, map(list, new)))}]\n')
    return file.heading + COUNTS.format(long=min(long, file.long), rows="".join(rows))


def table(counts: Counts, file: SizeFile) -> Iterator[str]:
    """Yield the lines of the printed table of counts."""
    yield f"{'':20} {'lines':>8} {'statements':>11} {'at the start':>14} {'risen':>12} {'allowed':>12}"
    for area, (lines, statements) in sorted(counts.items()):
        base, _, risen = file.records.get(area, Record())
        allowed = [file.allowance(area, unit) for unit in UNITS]
        pairs = [f"{a:,} {b:,}" if a or b else "" for a, b in (base, risen, allowed)]
        yield f"{area:20} {lines:8,} {statements:11,} {pairs[0]:>14} {pairs[1]:>12} {pairs[2]:>12}"
    shown = ("dpcore/dashboard", "pages")
    sums = {
        "core": sum(n for area, (n, _) in counts.items() if area.startswith("dpcore") and area not in shown),
        "dashboard": sum(counts.get(area, (0, 0))[0] for area in shown),
        "tests": counts.get("tests", (0, 0))[0],
    }
    for name, target in file.targets.items():
        yield f"{name:20} {sums[name]:8,}   target {target:,}: {max(0, sums[name] - target):,} to go"
    for one in file.allowances:
        yield f"allowance of {one['area']}: {one['lines']:,} lines, {one['statements']:,} statements: {one['why']}"


def main(arguments: list[str] | None = None) -> int:
    """Print the counts and record what is allowed; return 1 if a count is too large or stale."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args(arguments).check
    (counts, long), file = measure(), parse(FILE.read_text(encoding="utf-8"))
    print(*table(counts, file), sep="\n")
    wrong, stale = faults(counts, long, file), differences(counts, long, file)
    if not check:
        text = render(counts, long, file)
        FILE.write_text(text, encoding="utf-8")
        pending = differences(counts, long, parse(text))
        print("\nWritten down:", *(one for one in stale if one not in pending), sep="\n")
        stale = pending
    print("", *wrong, *(["Not written down:", *stale] if stale else []), sep="\n")
    return int(bool(wrong or stale))


if __name__ == "__main__":
    sys.exit(main())
