"""Cache of parsed sources, shared by the rules about sources."""

import ast
from functools import cache

import pytest

parse = cache(ast.parse)


@pytest.fixture(scope="module")
def parsed_once():
    """Return the cached parser; no rule changes a tree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ast, "parse", parse)
        yield
