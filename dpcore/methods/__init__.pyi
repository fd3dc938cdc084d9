"""Written by scripts/stubs.py: the names that are imported when they are used."""

# ruff: noqa: I001

from dpcore.estimator import PrivateEstimator
from dpcore.methods.c45 import DiffPC45 as DiffPC45
from dpcore.methods.diffgen import DiffGen as DiffGen
from dpcore.methods.diffgen_tree import DiffGenTree as DiffGenTree
from dpcore.methods.diffprf import DiffPRF as DiffPRF
from dpcore.methods.diffprfs import DiffPRFs as DiffPRFs
from dpcore.methods.dtcrd import DTCRD as DTCRD
from dpcore.methods.dtdiff import DTDiff as DTDiff
from dpcore.methods.dtpd import DTPD as DTPD
from dpcore.methods.hmprivbayes import HMPrivBayes as HMPrivBayes
from dpcore.methods.id3 import DiffPID3 as DiffPID3
from dpcore.methods.id3 import PINQID3 as PINQID3
from dpcore.methods.id3 import SuLQID3 as SuLQID3
from dpcore.methods.jtree import JTree as JTree
from dpcore.methods.naive_bayes import NaiveBayesSynthesizer as NaiveBayesSynthesizer
from dpcore.methods.noprivacy import NoPrivacy as NoPrivacy
from dpcore.methods.plain_bayes import PlainNaiveBayes as PlainNaiveBayes
from dpcore.methods.plain_forest import PlainForest as PlainForest
from dpcore.methods.ppnb import PPNB as PPNB
from dpcore.methods.privbayes import PrivBayes as PrivBayes
from dpcore.methods.privscbn import PrivSCBN as PrivSCBN
from dpcore.methods.refined import RefinedPrivBayes as RefinedPrivBayes
from dpcore.methods.taxonomy_release import TaxonomyRelease as TaxonomyRelease
from dpcore.methods.registry import Registry

METHODS: Registry[type[PrivateEstimator]]
