"""Test that docstrings of exported names have numpydoc sections that fit their signatures."""

import ast
import doctest
import inspect
import re
from importlib import import_module
from textwrap import dedent
from types import FunctionType

import pytest

ROOMS = "charts datasets evaluate experiment export audit export.release evaluate.disclosure datasets.schema_formats"
SECTIONS = {"Parameters", "Attributes", "Returns", "Yields", "Raises", "Examples"}
NO_VERBS = {"A", "All", "An", "As", "Every", "How", "In", "Its", "No", "One", "See", "Some", "The", "What", "Whether"}
ERRORS = {"ParameterError", "SchemaError", "DataError", "BudgetError"}


def public():
    """Return functions and classes with docstrings, by name; overrides need one sentence only."""
    found = {}
    for module in (import_module(f"dpcore.{room}".rstrip(".")) for room in ("", *ROOMS.split())):
        own = [name for name, it in vars(module).items() if getattr(it, "__module__", "") == module.__name__]
        for it in [getattr(module, name) for name in getattr(module, "__all__", own) if name[0] != "_"]:
            found |= {f"{it.__module__}:{it.__qualname__}": it} if isinstance(it, type | FunctionType) else {}
            for kind in [kind for kind in getattr(it, "__mro__", ()) if kind.__module__.startswith("dpcore")]:
                for name, member in vars(kind).items():
                    method = getattr(member, "__func__", member)
                    if isinstance(method, FunctionType) and name[0] != "_":
                        brief = "\n    ----" not in (method.__doc__ or "")
                        if not (brief and any(name in vars(above) for above in kind.__mro__[1:])):
                            found[f"{kind.__module__}:{kind.__qualname__}.{name}"] = method
    return {name: (it, inspect.cleandoc(it.__doc__ or "")) for name, it in found.items()}


def complaints(it, text):
    first, _, rest = text.partition("\n")
    if not first.endswith(".") or rest.partition("\n")[0]:
        yield "does not begin with a sentence in a line of its own"
    parts, said = re.split(r"^(\w+)\n-{3,}$", text, flags=re.MULTILINE), {}
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        heads = re.findall(r"^\S.*", body, re.MULTILINE)
        said[title] = [name.lstrip("*") for head in heads for name in head.partition(" : ")[0].split(", ")]
        if title != "Examples" and (bare := re.findall(r"^(\S.* : .*)\n(?! {4}\S)", body + "\n", re.MULTILINE)):
            yield f"has nothing to say of {bare}"
    if unknown := said.keys() - SECTIONS:
        yield f"has unknown sections {unknown}"
    if isinstance(it, type) and "__init__" not in vars(it):
        return
    signature = inspect.signature(it)
    wanted = [name for name in signature.parameters if name not in ("self", "cls")]
    described = said.get("Parameters", said.get("Attributes", [])[: len(wanted)] if isinstance(it, type) else [])
    if described != wanted:
        yield f"describes {described} in place of {wanted}"
    if isinstance(it, type):
        return
    if first.partition(" ")[0] in NO_VERBS:
        yield f"begins with no verb: {first}"
    result = str(signature.return_annotation) if wanted or it.__name__ == it.__qualname__ else "None"
    if not {"Returns", "Yields"} & said.keys() and result not in ("None", "Self", "typing.Self"):
        yield f"does not say what it returns ({result})"
    raised = [node.exc for node in ast.walk(ast.parse(dedent(inspect.getsource(it)))) if isinstance(node, ast.Raise)]
    names = {ast.unparse(call.func) for call in raised if isinstance(call, ast.Call)} & ERRORS
    if lacking := names - set(said.get("Raises", [])):
        yield f"does not say that it raises {sorted(lacking)}"


@pytest.mark.listed
def test_docstrings_have_the_sections_that_signatures_call_for():
    found = [f"{name} {complaint}" for name, (it, text) in public().items() for complaint in complaints(it, text)]
    assert not found, "\n".join(found)


def test_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    runner, failed = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), []
    for name, (_, text) in public().items():
        runner.run(doctest.DocTestParser().get_doctest(text, {}, name, name, 0), out=failed.append)
    assert runner.tries > 60
    assert not failed, "".join(failed)
