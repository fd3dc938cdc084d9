"""The methods, by the name that screens and exports use. One file per method; none imports another's classes."""

from __future__ import annotations

from dpcore.estimator import PrivateEstimator
from dpcore.methods.c45 import DiffPC45
from dpcore.methods.diffgen import DiffGen
from dpcore.methods.diffgen_tree import DiffGenTree
from dpcore.methods.diffprf import DiffPRF
from dpcore.methods.diffprfs import DiffPRFs
from dpcore.methods.dtcrd import DTCRD
from dpcore.methods.dtdiff import DTDiff
from dpcore.methods.dtpd import DTPD
from dpcore.methods.hmprivbayes import HMPrivBayes
from dpcore.methods.id3 import PINQID3, DiffPID3, SuLQID3
from dpcore.methods.jtree import JTree
from dpcore.methods.naive_bayes import NaiveBayesSynthesizer
from dpcore.methods.noprivacy import NoPrivacy
from dpcore.methods.plain_bayes import PlainNaiveBayes
from dpcore.methods.plain_forest import PlainForest
from dpcore.methods.ppnb import PPNB
from dpcore.methods.privbayes import PrivBayes
from dpcore.methods.privscbn import PrivSCBN
from dpcore.methods.refined import RefinedPrivBayes
from dpcore.methods.taxonomy_release import TaxonomyRelease

__all__ = [
    "DTCRD",
    "DTPD",
    "METHODS",
    "PINQID3",
    "PPNB",
    "DTDiff",
    "DiffGen",
    "DiffGenTree",
    "DiffPC45",
    "DiffPID3",
    "DiffPRF",
    "DiffPRFs",
    "HMPrivBayes",
    "JTree",
    "NaiveBayesSynthesizer",
    "NoPrivacy",
    "PlainForest",
    "PlainNaiveBayes",
    "PrivBayes",
    "PrivSCBN",
    "RefinedPrivBayes",
    "SuLQID3",
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
    "DiffPRF": DiffPRF,
    "SuLQ-ID3": SuLQID3,
    "PINQ-ID3": PINQID3,
    "DiffP-ID3": DiffPID3,
    "DiffP-C4.5": DiffPC45,
    "DT-Diff": DTDiff,
    "DiffGen tree": DiffGenTree,
    "Plain forest": PlainForest,
    "PPNB": PPNB,
    "DTPD": DTPD,
    "DTCRD": DTCRD,
    "Plain naive Bayes": PlainNaiveBayes,
}
