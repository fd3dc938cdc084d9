"""Written by scripts/registry.py: the names that are imported when they are used."""

# ruff: noqa

from dpcore.methods.base import PrivateEstimator
from dpcore.methods.groups.diffgen import DiffGen as DiffGen
from dpcore.methods.groups.diffgen import DiffGenTree as DiffGenTree
from dpcore.methods.groups.dtdiff import DTDiff as DTDiff
from dpcore.methods.groups.dtdiff import DTDiffRows as DTDiffRows
from dpcore.methods.groups.taxonomy_release import TaxonomyRelease as TaxonomyRelease
from dpcore.methods.local.dtcrd import DTCRD as DTCRD
from dpcore.methods.local.dtpd import DTPD as DTPD
from dpcore.methods.local.ppnb import NonPrivateNaiveBayes as NonPrivateNaiveBayes
from dpcore.methods.local.ppnb import PPNB as PPNB
from dpcore.methods.naive_bayes import NaiveBayesSynthesizer as NaiveBayesSynthesizer
from dpcore.methods.networks.adaptive_marginals import AdaptiveMarginals as AdaptiveMarginals
from dpcore.methods.networks.aim import AIM as AIM
from dpcore.methods.networks.hmprivbayes import HMPrivBayes as HMPrivBayes
from dpcore.methods.networks.hmprivbayes import NoPrivacy as NoPrivacy
from dpcore.methods.networks.independent_marginals import IndependentMarginals as IndependentMarginals
from dpcore.methods.networks.jtree import JTree as JTree
from dpcore.methods.networks.mst import MST as MST
from dpcore.methods.networks.privbayes import PrivBayes as PrivBayes
from dpcore.methods.networks.privscbn import PrivSCBN as PrivSCBN
from dpcore.methods.networks.refined_privbayes import RefinedPrivBayes as RefinedPrivBayes
from dpcore.methods.trees.diffprf import DiffPRF as DiffPRF
from dpcore.methods.trees.diffprfs import DiffPRFs as DiffPRFs
from dpcore.methods.trees.id3 import DiffPC45 as DiffPC45
from dpcore.methods.trees.id3 import DiffPID3 as DiffPID3
from dpcore.methods.trees.id3 import PINQID3 as PINQID3
from dpcore.methods.trees.id3 import SuLQID3 as SuLQID3
from dpcore.methods.trees.non_private_forest import NonPrivateForest as NonPrivateForest
from dpcore.methods.registry import Registry

METHODS: Registry[type[PrivateEstimator]]
