"""The methods, by the names that screens and exports use: one file per method.

No method's file imports another method's classes. Each method has one line in the registry, and is
imported when it is first used. Type checkers read `__init__.pyi`, which `scripts/registry.py`
writes from these lines.
"""

from typing import Any

from dpcore.methods.registry import METHODS, load

__all__ = ["METHODS", *sorted(METHODS.classes)]


def __getattr__(name: str) -> Any:
    """Import and return the method class of this name when it is first used."""
    if name not in METHODS.classes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(METHODS.classes[name])


def __dir__() -> list[str]:
    """Return the names of all method classes."""
    return __all__
