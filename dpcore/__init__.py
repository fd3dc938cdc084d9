"""Differentially private data release, as published and as it can be proved.

Start with `datasets.load("sample")`, a method of `METHODS`, and its `ledger_`.

Nothing is loaded before it is used: a public name is imported when it is first asked for, from its place below, and a
method's class from its line in `METHODS`. Type checkers read `__init__.pyi`, which `scripts/stubs.py` writes after
both.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

PLACES = {
    "BudgetError": "errors:BudgetError",
    "Column": "column:Column",
    "DPCoreError": "errors:DPCoreError",
    "DataError": "errors:DataError",
    "ERRPH": "channels:ERRPH",
    "Forest": "forest:Forest",
    "Ledger": "ledger:Ledger",
    "METHODS": "methods:METHODS",
    "OLH": "channels:OLH",
    "OUE": "channels:OUE",
    "ParameterError": "errors:ParameterError",
    "RRPH": "channels:RRPH",
    "Relation": "ledger:Relation",
    "Schema": "schema:Schema",
    "SchemaError": "errors:SchemaError",
    "TRR": "channels:TRR",
    "Taxonomy": "taxonomy:Taxonomy",
    "Warner": "channels:Warner",
    "audit": "audit",
    "datasets": "datasets",
    "durable_ledger": "books:durable_ledger",
    "evaluate": "evaluate",
    "experiment": "experiment",
    "export": "export",
    "risk": "risk",
}


def __getattr__(name: str) -> Any:
    from dpcore.methods import METHODS
    from dpcore.methods.registry import load

    if name == "__all__":
        return sorted({*PLACES, *METHODS.classes})
    place = PLACES.get(name) or METHODS.classes.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = load(place)
    return found


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]
