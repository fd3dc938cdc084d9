"""The methods, by the name that screens and exports use. One file per method; none imports another's classes.

A method is one line here, and is imported when it is first asked for. Type checkers read `__init__.pyi`, which
`scripts/registry.py` writes after these lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.methods.registry import Registry, load

if TYPE_CHECKING:
    from dpcore.methods.base import PrivateEstimator

METHODS: Registry[type[PrivateEstimator]] = Registry(
    {
        "NB-Synth": "methods.naive_bayes:NaiveBayesSynthesizer",
        "Adaptive marginals": "methods.networks.adaptive_marginals:AdaptiveMarginals",
        "PrivBayes refined": "methods.networks.refined:RefinedPrivBayes",
        "MST": "methods.networks.mst:MST",
        "AIM": "methods.networks.aim:AIM",
        "HMPrivBayes": "methods.networks.hmprivbayes:HMPrivBayes",
        "PrivSCBN": "methods.networks.privscbn:PrivSCBN",
        "PrivBayes": "methods.networks.privbayes:PrivBayes",
        "JTree": "methods.networks.jtree:JTree",
        "Independent marginals": "methods.networks.independent_marginals:IndependentMarginals",
        "NoPrivacy": "methods.networks.hmprivbayes:NoPrivacy",
        "TaxonomyRelease": "methods.groups.taxonomy_release:TaxonomyRelease",
        "DiffGen": "methods.groups.diffgen:DiffGen",
        "DiffPRFs": "methods.trees.diffprfs:DiffPRFs",
        "DiffPRF": "methods.trees.diffprf:DiffPRF",
        "DiffP-C4.5": "methods.trees.id3:DiffPC45",
        "DiffP-ID3": "methods.trees.id3:DiffPID3",
        "PINQ-ID3": "methods.trees.id3:PINQID3",
        "SuLQ-ID3": "methods.trees.id3:SuLQID3",
        "DT-Diff": "methods.groups.dtdiff:DTDiff",
        "DiffGen tree": "methods.groups.diffgen:DiffGenTree",
        "Non-private forest": "methods.trees.non_private_forest:NonPrivateForest",
        "PPNB": "methods.local.ppnb:PPNB",
        "DTPD": "methods.local.dtpd:DTPD",
        "DTCRD": "methods.local.dtcrd:DTCRD",
        "Non-private naive Bayes": "methods.local.ppnb:NonPrivateNaiveBayes",
    }
)

__all__ = ["METHODS", *sorted(METHODS.classes)]


def __getattr__(name: str) -> Any:
    if name not in METHODS.classes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(METHODS.classes[name])


def __dir__() -> list[str]:
    return __all__
