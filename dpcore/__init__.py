"""Differentially private data release, as published and as it can be proved.

Start with `datasets.load("sample")`, a method of `METHODS`, and its `ledger_`.
"""

from dpcore import audit, datasets, evaluate, experiment, export, risk
from dpcore.column import Column
from dpcore.errors import BudgetError, DataError, DPCoreError, ParameterError, SchemaError
from dpcore.ledger import Ledger, Relation
from dpcore.methods import (
    METHODS,
    DiffGen,
    HMPrivBayes,
    JTree,
    NaiveBayesSynthesizer,
    NoPrivacy,
    PrivBayes,
    PrivSCBN,
    RefinedPrivBayes,
    TaxonomyRelease,
)
from dpcore.schema import Schema
from dpcore.taxonomy import Taxonomy

__version__ = "0.1.0"
__all__ = [
    "METHODS",
    "BudgetError",
    "Column",
    "DPCoreError",
    "DataError",
    "DiffGen",
    "HMPrivBayes",
    "JTree",
    "Ledger",
    "NaiveBayesSynthesizer",
    "NoPrivacy",
    "ParameterError",
    "PrivBayes",
    "PrivSCBN",
    "RefinedPrivBayes",
    "Relation",
    "Schema",
    "SchemaError",
    "Taxonomy",
    "TaxonomyRelease",
    "audit",
    "datasets",
    "evaluate",
    "experiment",
    "export",
    "risk",
]
