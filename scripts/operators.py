"""List all small faults that can be planted in a Python file: operators, constants, conditions.

Early ends (`return`, `break`, `continue`) are changed too. Code that no test can observe is left
out: docstrings and other texts, annotations, `raise` statements, `__repr__`.
"""

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
    ast.In: (r"\bin\b", "not in"), ast.NotIn: (r"\bnot\s+in\b", "in"),
    ast.Is: (r"\bis\b", "is not"), ast.IsNot: (r"\bis\s+not\b", "is"),
}  # fmt: skip
ARITHMETIC = {
    ast.Add: (r"\+", "-"), ast.Sub: ("-", "+"), ast.Mult: (r"\*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.Pow: (r"\*\*", "*"), ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"), ast.BitOr: (r"\|", "&"), ast.BitXor: (r"\^", "&"),
}  # fmt: skip
OPPOSITES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "floor": "ceil", "ceil": "floor",
         "any": "all", "all": "any"}  # fmt: skip
TEXTS = {"say", "phrase", "plural", "warn", "markdown", "caption", "look", "assumed"}
MUTE = {"__repr__", "__str__"}


@dataclass(frozen=True)
class Change:
    """Replacement of the bytes `start` to `end` of a file by `new`.

    `key` identifies the change independently of its position in the file.
    """

    start: int
    end: int
    new: str
    line: int
    key: str = ""

    def plant(self, source: str) -> str:
        """Return the source with the change."""
        coded = source.encode()
        return (coded[: self.start] + self.new.encode() + coded[self.end :]).decode()

    def describe(self, source: str) -> str:
        """Return the old and the new text in one line."""
        return " ".join(f"{source.encode()[self.start : self.end].decode()} -> {self.new}".split())


class Changes:
    """Finder of all changes of one source file."""

    def __init__(self, source: str) -> None:
        self._source = source.encode()
        starts = [0]
        for line in self._source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts

    def find(self, tree: ast.AST) -> Iterator[Change]:
        """Yield all changes below a node of the syntax tree, with their keys."""
        seen: dict[str, int] = {}
        for change, name in self._walked(tree, ""):
            old = self._source[change.start : change.end].decode()
            around = self._source[self._starts[change.line - 1] : self._starts[change.line]].decode().strip()
            key = f"{name}|{around}|{old}|{change.new}"
            seen[key] = seen.get(key, 0) + 1
            yield Change(change.start, change.end, change.new, change.line, f"{key}|{seen[key]}")

    def _walked(self, node: ast.AST, name: str) -> Iterator[tuple[Change, str]]:
        """Yield the changes below a node, each with the name of its function."""
        if isinstance(node, (ast.Raise, ast.JoinedStr)) or getattr(node, "name", "") in MUTE:
            return
        if isinstance(node, ast.Call) and self._name(node.func) in TEXTS:
            return
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            name = f"{name}.{node.name}"
        yield from ((change, name) for change in self._changes(node))
        for field, value in ast.iter_fields(node):
            if field in {"annotation", "returns"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._walked(child, name)

    def _changes(self, node: ast.AST) -> Iterator[Change]:
        """Yield the changes of one node itself."""
        match node:
            case ast.Compare():
                for left, sign, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                    yield self._between(left, right, *COMPARISONS[type(sign)])
            case ast.BinOp() if type(node.op) in ARITHMETIC:
                yield self._between(node.left, node.right, *ARITHMETIC[type(node.op)])
            case ast.AugAssign() if type(node.op) in ARITHMETIC:
                yield self._between(node.target, node.value, *ARITHMETIC[type(node.op)])
            case ast.BoolOp():
                word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield self._between(left, right, rf"\b{word}\b", other)
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield self._instead(node, f"({self._text(node.operand)})")
            case ast.Constant(value=bool()):
                yield self._instead(node, str(not node.value))
            case ast.Constant(value=int() | float()):
                yield self._instead(node, f"({self._text(node)} + 1)")
                yield self._instead(node, f"({self._text(node)} - 1)")
            case ast.Call() if opposite := OPPOSITES.get(self._name(node.func)):
                end = self._at(node.func.end_lineno, node.func.end_col_offset)
                yield Change(end - len(self._name(node.func)), end, opposite, node.func.end_lineno)
            case ast.Return(value=ast.AST() as value) if not isinstance(value, ast.Constant):
                if not (isinstance(value, ast.Call) and self._name(value.func) in TEXTS):
                    yield self._instead(value, "None")
            case ast.If() | ast.While() | ast.IfExp():
                yield self._instead(node.test, f"(not ({self._text(node.test)}))")
                if isinstance(node, ast.If) and isinstance(node.body[-1], (ast.Return, ast.Raise, ast.Continue)):
                    yield self._instead(node.test, "False")
            case ast.comprehension():
                yield from (self._instead(test, "True") for test in node.ifs)
            case ast.Break() | ast.Continue():
                yield self._instead(node, "continue" if isinstance(node, ast.Break) else "break")

    @staticmethod
    def _name(function: ast.AST) -> str:
        """Return the name of a called function."""
        return getattr(function, "attr", "") or getattr(function, "id", "")

    def _at(self, line: int, column: int) -> int:
        """Return the byte position of a line and column."""
        return self._starts[line - 1] + column

    def _text(self, node: ast.AST) -> str:
        """Return the source text of a node."""
        start, end = self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)
        return self._source[start:end].decode()

    def _instead(self, node: ast.AST, new: str) -> Change:
        """Return the change that replaces a node by a text."""
        start = self._at(node.lineno, node.col_offset)
        return Change(start, self._at(node.end_lineno, node.end_col_offset), new, node.lineno)

    def _between(self, left: ast.AST, right: ast.AST, sign: str, new: str) -> Change:
        """Return the change that replaces the operator `sign` between two nodes."""
        start = self._at(left.end_lineno, left.end_col_offset)
        gap = self._source[start : self._at(right.lineno, right.col_offset)].decode()
        found = re.search(sign, re.sub(r"#.*", lambda comment: " " * len(comment[0]), gap))
        line = left.end_lineno + gap[: found.start()].count("\n")
        return Change(start + len(gap[: found.start()].encode()), start + len(gap[: found.end()].encode()), new, line)


def draw(root: Path, packages: tuple[str, ...], number: int, seed: int) -> list[tuple[str, Change]]:
    """Draw `number` changes of the packages' files at random, each with the same probability.

    The changes with the smallest digests of seed and key are drawn: two trees get the same changes
    where they are alike.
    """
    found = []
    for path in sorted(file for package in packages for file in (root / "dpcore" / package).rglob("*.py")):
        file, source = path.relative_to(root).as_posix(), path.read_text()
        for change in Changes(source).find(ast.parse(source)):
            digest = hashlib.sha256(f"{seed}|{file}|{change.key}".encode()).hexdigest()
            found.append((digest, file, change))
    return [(file, change) for _, file, change in sorted(found, key=lambda one: one[0])[:number]]
