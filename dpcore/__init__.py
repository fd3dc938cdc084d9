"""Differentially private data release, as published and as it can be proved.

Start with `datasets.load("sample")`, a method of `METHODS`, and its `ledger_`.
"""

from dpcore import audit, datasets, evaluate, experiment, export, risk
from dpcore.books import durable_ledger
from dpcore.channels import ERRPH, OLH, OUE, RRPH, TRR, Warner
from dpcore.column import Column
from dpcore.errors import BudgetError, DataError, DPCoreError, ParameterError, SchemaError
from dpcore.forest import Forest
from dpcore.ledger import Ledger, Relation
from dpcore.methods import (
    DTCRD,
    DTPD,
    METHODS,
    PINQID3,
    PPNB,
    DiffGen,
    DiffGenTree,
    DiffPC45,
    DiffPID3,
    DiffPRF,
    DiffPRFs,
    DTDiff,
    HMPrivBayes,
    JTree,
    NaiveBayesSynthesizer,
    NoPrivacy,
    PlainForest,
    PlainNaiveBayes,
    PrivBayes,
    PrivSCBN,
    RefinedPrivBayes,
    SuLQID3,
    TaxonomyRelease,
)
from dpcore.schema import Schema
from dpcore.taxonomy import Taxonomy

__version__ = "0.1.0"
__all__ = [
    "DTCRD",
    "DTPD",
    "ERRPH",
    "METHODS",
    "OLH",
    "OUE",
    "PINQID3",
    "PPNB",
    "RRPH",
    "TRR",
    "BudgetError",
    "Column",
    "DPCoreError",
    "DTDiff",
    "DataError",
    "DiffGen",
    "DiffGenTree",
    "DiffPC45",
    "DiffPID3",
    "DiffPRF",
    "DiffPRFs",
    "Forest",
    "HMPrivBayes",
    "JTree",
    "Ledger",
    "NaiveBayesSynthesizer",
    "NoPrivacy",
    "ParameterError",
    "PlainForest",
    "PlainNaiveBayes",
    "PrivBayes",
    "PrivSCBN",
    "RefinedPrivBayes",
    "Relation",
    "Schema",
    "SchemaError",
    "SuLQID3",
    "Taxonomy",
    "TaxonomyRelease",
    "Warner",
    "audit",
    "datasets",
    "durable_ledger",
    "evaluate",
    "experiment",
    "export",
    "risk",
]
