"""Differentially private data release: methods as published, and corrected with proved guarantees.

Start with `datasets.load("sample")`, a method of `METHODS`, and its `ledger_`.

A public name is imported when it is first used: classes of methods from `METHODS`, other names from
the module that `LOCATIONS` gives. Type checkers read `__init__.pyi`, which `scripts/registry.py`
writes.
"""

from typing import Any

__version__ = "0.2.0"

MODULES = {  # public names by module
    "accounting.ledger": "Ledger",
    "accounting.relation": "Relation",
    "accounting.spending": "spending",
    "accounting.store": "persistent_ledger",
    "domain.column": "Column",
    "domain.schema": "Schema",
    "domain.taxonomy": "Taxonomy",
    "domain.unit": "PrivacyUnit",
    "errors": "BudgetError DPCoreError DataError ParameterError SchemaError",
    "mechanisms.randomizers": "ERRPH OLH OUE RRPH TRR Warner",
    "methods": "METHODS",
    "methods.statistics": "PlainStatistics ask",
    "postprocess.forest": "Forest",
    "rows.writing": "encode_folder",
}
LOCATIONS = {name: f"{module}:{name}" for module, names in MODULES.items() for name in names.split()} | {
    "audit": "audit",
    "datasets": "datasets",
    "evaluate": "evaluate",
    "experiment": "experiment",
    "export": "export",
    "models": "export.release",  # the name in scripts that were exported with a classifier
    "risk": "evaluate.disclosure",
}


def __getattr__(name: str) -> Any:
    """Import a public name of the package on its first use; AttributeError if it is unknown."""
    from dpcore.domain.former_names import PUBLIC
    from dpcore.methods import METHODS
    from dpcore.methods.registry import advise, load

    if name == "__all__":
        return sorted({*LOCATIONS, *METHODS.classes})
    current = PUBLIC.get(name, name)
    location = LOCATIONS.get(current) or METHODS.classes.get(current)
    if location is None:
        advice = advise(name, known=[*LOCATIONS, *METHODS.classes])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{advice}")
    globals()[name] = found = load(location)
    return found


def __dir__() -> list[str]:
    """Return the public names of the package."""
    return [*__getattr__("__all__"), "__version__"]
