"""The methods, by the name that screens and exports use. One file per method; none imports another's classes."""

from __future__ import annotations

from dpcore.estimator import PrivateEstimator
from dpcore.methods.diffgen import DiffGen
from dpcore.methods.diffprfs import DiffPRFs
from dpcore.methods.hmprivbayes import HMPrivBayes
from dpcore.methods.jtree import JTree
from dpcore.methods.naive_bayes import NaiveBayesSynthesizer
from dpcore.methods.noprivacy import NoPrivacy
from dpcore.methods.privbayes import PrivBayes
from dpcore.methods.privscbn import PrivSCBN
from dpcore.methods.refined import RefinedPrivBayes
from dpcore.methods.taxonomy_release import TaxonomyRelease

__all__ = [
    "METHODS",
    "DiffGen",
    "DiffPRFs",
    "HMPrivBayes",
    "JTree",
    "NaiveBayesSynthesizer",
    "NoPrivacy",
    "PrivBayes",
    "PrivSCBN",
    "RefinedPrivBayes",
    "TaxonomyRelease",
]

METHODS: dict[str, type[PrivateEstimator]] = {
    "NB-Synth": NaiveBayesSynthesizer,
    "HMPrivBayes": HMPrivBayes,
    "PrivBayes": PrivBayes,
    "PrivBayes refined": RefinedPrivBayes,
    "PrivSCBN": PrivSCBN,
    "JTree": JTree,
    "NoPrivacy": NoPrivacy,
    "TaxonomyRelease": TaxonomyRelease,
    "DiffGen": DiffGen,
    "DiffPRFs": DiffPRFs,
}
