"""The methods, by the name that screens and exports use. One file per method; none imports another's classes.

A method is one line of the registry, and is imported when it is first asked for. Type checkers read
`__init__.pyi`, which `scripts/registry.py` writes after these lines.
"""

from typing import Any

from dpcore.methods.registry import METHODS, load

__all__ = ["METHODS", *sorted(METHODS.classes)]


def __getattr__(name: str) -> Any:
    if name not in METHODS.classes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(METHODS.classes[name])


def __dir__() -> list[str]:
    return __all__
