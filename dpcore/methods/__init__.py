"""The methods, by the name that screens and exports use. One file per method; none imports another's classes.

A method is one line here, and is imported when it is first asked for. Type checkers read `__init__.pyi`, which
`scripts/stubs.py` writes after these lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.methods.registry import Registry, load

if TYPE_CHECKING:
    from dpcore.estimator import PrivateEstimator

METHODS: Registry[type[PrivateEstimator]] = Registry(
    {
        "NB-Synth": "methods.naive_bayes:NaiveBayesSynthesizer",
        "HMPrivBayes": "methods.hmprivbayes:HMPrivBayes",
        "PrivBayes": "methods.privbayes:PrivBayes",
        "PrivBayes refined": "methods.refined:RefinedPrivBayes",
        "PrivSCBN": "methods.privscbn:PrivSCBN",
        "JTree": "methods.jtree:JTree",
        "NoPrivacy": "methods.noprivacy:NoPrivacy",
        "TaxonomyRelease": "methods.taxonomy_release:TaxonomyRelease",
        "DiffGen": "methods.diffgen:DiffGen",
        "DiffPRFs": "methods.diffprfs:DiffPRFs",
        "DiffPRF": "methods.diffprf:DiffPRF",
        "SuLQ-ID3": "methods.id3:SuLQID3",
        "PINQ-ID3": "methods.id3:PINQID3",
        "DiffP-ID3": "methods.id3:DiffPID3",
        "DiffP-C4.5": "methods.c45:DiffPC45",
        "DT-Diff": "methods.dtdiff:DTDiff",
        "DiffGen tree": "methods.diffgen_tree:DiffGenTree",
        "Plain forest": "methods.plain_forest:PlainForest",
        "PPNB": "methods.ppnb:PPNB",
        "DTPD": "methods.dtpd:DTPD",
        "DTCRD": "methods.dtcrd:DTCRD",
        "Plain naive Bayes": "methods.plain_bayes:PlainNaiveBayes",
    }
)

__all__ = ["METHODS", *sorted(METHODS.classes)]


def __getattr__(name: str) -> Any:
    if name not in METHODS.classes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(METHODS.classes[name])


def __dir__() -> list[str]:
    return __all__
