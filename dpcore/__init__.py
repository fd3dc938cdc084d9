"""Differentially private data release, as published and as it can be proved.

Start with `datasets.load("sample")`, a method of `METHODS`, and its `ledger_`.

Nothing is loaded before it is used: a public name is imported when it is first asked for, from its place below, and a
method's class from its line in `METHODS`. Type checkers read `__init__.pyi`, which `scripts/registry.py` writes after
both.
"""

from typing import Any

__version__ = "0.2.0"

PLACES = {
    "BudgetError": "errors:BudgetError",
    "Column": "domain.column:Column",
    "DPCoreError": "errors:DPCoreError",
    "DataError": "errors:DataError",
    "ERRPH": "mechanisms.randomizers:ERRPH",
    "Forest": "postprocess.forest:Forest",
    "Ledger": "accounting.ledger:Ledger",
    "METHODS": "methods:METHODS",
    "OLH": "mechanisms.randomizers:OLH",
    "OUE": "mechanisms.randomizers:OUE",
    "ParameterError": "errors:ParameterError",
    "PrivacyUnit": "domain.unit:PrivacyUnit",
    "RRPH": "mechanisms.randomizers:RRPH",
    "Relation": "accounting.relation:Relation",
    "Schema": "domain.schema:Schema",
    "SchemaError": "errors:SchemaError",
    "TRR": "mechanisms.randomizers:TRR",
    "Taxonomy": "domain.taxonomy:Taxonomy",
    "Warner": "mechanisms.randomizers:Warner",
    "audit": "audit",
    "datasets": "datasets",
    "persistent_ledger": "accounting.store:persistent_ledger",
    "encode_folder": "rows.writing:encode_folder",
    "evaluate": "evaluate",
    "experiment": "experiment",
    "export": "export",
    "models": "export.release",  # as scripts call it that were taken home with a classifier
    "risk": "evaluate.disclosure",
    "spending": "accounting.spending:spending",
}


def __getattr__(name: str) -> Any:
    from dpcore.domain.former_names import PUBLIC
    from dpcore.methods import METHODS
    from dpcore.methods.registry import advise, load

    if name == "__all__":
        return sorted({*PLACES, *METHODS.classes})
    current = PUBLIC.get(name, name)
    place = PLACES.get(current) or METHODS.classes.get(current)
    if place is None:
        advice = advise(name, known=[*PLACES, *METHODS.classes])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{advice}")
    globals()[name] = found = load(place)
    return found


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]
