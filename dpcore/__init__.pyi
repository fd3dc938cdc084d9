"""Written by scripts/registry.py: the names that are imported when they are used."""

# ruff: noqa

from dpcore import audit as audit
from dpcore import datasets as datasets
from dpcore import evaluate as evaluate
from dpcore import experiment as experiment
from dpcore import export as export
from dpcore.accounting.ledger import Ledger as Ledger
from dpcore.accounting.relation import Relation as Relation
from dpcore.accounting.spending import spending as spending
from dpcore.accounting.store import persistent_ledger as persistent_ledger
from dpcore.domain.column import Column as Column
from dpcore.domain.schema import Schema as Schema
from dpcore.domain.taxonomy import Taxonomy as Taxonomy
from dpcore.domain.unit import PrivacyUnit as PrivacyUnit
from dpcore.errors import BudgetError as BudgetError
from dpcore.errors import DPCoreError as DPCoreError
from dpcore.errors import DataError as DataError
from dpcore.errors import ParameterError as ParameterError
from dpcore.errors import SchemaError as SchemaError
from dpcore.evaluate import disclosure as risk
from dpcore.export import release as models
from dpcore.mechanisms.randomizers import ERRPH as ERRPH
from dpcore.mechanisms.randomizers import OLH as OLH
from dpcore.mechanisms.randomizers import OUE as OUE
from dpcore.mechanisms.randomizers import RRPH as RRPH
from dpcore.mechanisms.randomizers import TRR as TRR
from dpcore.mechanisms.randomizers import Warner as Warner
from dpcore.methods import METHODS as METHODS
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
from dpcore.methods.statistics import PlainStatistics as PlainStatistics
from dpcore.methods.statistics import ask as ask
from dpcore.methods.trees.diffprf import DiffPRF as DiffPRF
from dpcore.methods.trees.diffprfs import DiffPRFs as DiffPRFs
from dpcore.methods.trees.id3 import DiffPC45 as DiffPC45
from dpcore.methods.trees.id3 import DiffPID3 as DiffPID3
from dpcore.methods.trees.id3 import PINQID3 as PINQID3
from dpcore.methods.trees.id3 import SuLQID3 as SuLQID3
from dpcore.methods.trees.non_private_forest import NonPrivateForest as NonPrivateForest
from dpcore.postprocess.forest import Forest as Forest
from dpcore.rows.writing import encode_folder as encode_folder

__version__: str
