"""What many rules about sources share: each source is parsed once."""

import ast
from functools import cache

import pytest

parse = cache(ast.parse)


@pytest.fixture(scope="module")
def parsed_once():
    """No rule changes a tree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ast, "parse", parse)
        yield
