"""Docstrings of all that is public: numpydoc's sections say what signatures and bodies have, and examples run.

Public is what the rooms below export, with the public methods of exported classes. Charts are not covered.
"""

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import FunctionType
from typing import Any

import pytest

ROOMS = ("", "datasets", "evaluate", "experiment", "export", "audit", "export.models", "evaluate.disclosure")
ROOMS += ("domain.formats",)
SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "References", "Examples")
NO_VERBS = {"A", "All", "An", "As", "Every", "How", "In", "Its", "No", "One", "See", "Some", "The", "What", "Whether"}
ERRORS = re.compile(r"(?:\w*\.)?(\w+Error)")


def public() -> Iterator[tuple[str, Any, Any]]:
    """Names, functions or classes, and their docstrings; each once."""
    found: dict[tuple[str, str], tuple[Any, Any]] = {}
    for room in ROOMS:
        module = import_module(f"dpcore.{room}".rstrip("."))
        names = getattr(module, "__all__", None) or [
            name for name, it in vars(module).items() if getattr(it, "__module__", "") == module.__name__
        ]
        kept = [vars(module).get(name) or getattr(module, name) for name in names if not name.startswith("_")]
        for it in kept:
            if isinstance(it, type | FunctionType):
                found[it.__module__, it.__qualname__] = it, it.__doc__
            for kind in it.__mro__ if isinstance(it, type) else ():
                for name, member in vars(kind).items() if kind.__module__.startswith("dpcore") else ():
                    own = getattr(member, "__func__", member)
                    if isinstance(own, FunctionType) and not name.startswith("_") and not inherits(kind, name):
                        found[kind.__module__, f"{kind.__qualname__}.{name}"] = own, own.__doc__
    for (module, name), (it, text) in sorted(found.items()):
        yield f"{module}:{name}", it, inspect.cleandoc(text or "")


def inherits(kind: type, name: str) -> bool:
    """Whether a method stands in the place of one that says all, and has nothing to add but one sentence."""
    said = inspect.cleandoc(getattr(getattr(kind, name), "__doc__", None) or "")
    return "\n----" not in said and any(name in vars(above) for above in kind.__mro__[1:])


def items(text: str) -> dict[str, list[str]]:
    """The heads of the items of each section."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", text, flags=re.MULTILINE)
    heads = zip(parts[1::2], parts[2::2], strict=True)
    return {title: re.findall(r"^\S.*$", body, flags=re.MULTILINE) for title, body in heads}


def names_of(heads: list[str]) -> list[str]:
    return [name.lstrip("*") for head in heads for name in head.partition(" : ")[0].split(", ")]


def complaints(it: Any, text: str) -> Iterator[str]:
    lines, said = text.splitlines() or [""], items(text)
    if not lines[0].endswith(".") or (lines[1:] and lines[1]):
        yield "its first line is no sentence by itself"
    if unknown := [title for title in said if title not in SECTIONS]:
        yield f"unknown sections {unknown}"
    if isinstance(it, type):
        if issubclass(it, Enum) or ("__init__" not in vars(it) and "__init__" in vars(it.__mro__[1])):
            return
        wanted, given = [*inspect.signature(it).parameters], names_of(said.get("Parameters", said.get("Attributes", [])))
        if given[: len(wanted)] != wanted and wanted != ["args", "kwargs"]:
            yield f"describes {given} in place of {wanted}"
        return
    if lines[0].split(" ")[0] in NO_VERBS:
        yield f"begins with no verb: {lines[0]}"
    signature = inspect.signature(it)
    wanted = [name for name in signature.parameters if name not in ("self", "cls")]
    if (given := names_of(said.get("Parameters", []))) != wanted:
        yield f"describes {given} in place of {wanted}"
    result = str(signature.return_annotation)
    if (wanted or "." not in it.__qualname__) and not {"Returns", "Yields"} & said.keys():
        if result not in ("None", "Self", "typing.Self"):
            yield f"does not say what it returns ({result})"
    tree = ast.parse(dedent(inspect.getsource(it)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    raised = {name[1] for call in calls if (name := ERRORS.fullmatch(ast.unparse(call.func)))}
    if lacking := raised - set(names_of(said.get("Raises", []))) - {"AttributeError", "TypeError", "KeyError"}:
        yield f"does not say that it raises {sorted(lacking)}"


@pytest.mark.listed
def test_docstrings_have_the_sections_that_signatures_call_for() -> None:
    found = [f"{name} {complaint}" for name, it, text in public() for complaint in complaints(it, text)]
    assert not found, "\n".join(found)


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    failed: list[str] = []
    for name, _, text in public():
        if ">>>" in text:
            runner.run(doctest.DocTestParser().get_doctest(text, {}, name, name, 0), out=failed.append)
    assert not failed, "".join(failed)
    assert runner.tries > 30
