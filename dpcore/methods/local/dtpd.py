r"""DTPD: ID3 on records of bits that were sent as they are or turned round (compared with in paper 004).

Idea      Every answer is one bit, and the class too. Each person sends all bits with probability theta, and otherwise
          the complement of each of them. Shares of records in which some bits have some values follow from the reports,
          and ID3 needs nothing else.

Steps, as printed (mode="paper")
  1  Every column becomes a bit: whether the value is in the second half of its bins, of its categories in the schema's
     order, or of the groups below its taxonomy's root. k classes become ceil(log2 k) bits.                 recode, free
  2  groups="one": all bits as they are with probability theta, otherwise all complements.             unprotected, all
     groups="each": every bit for itself.                                                                randomize, each
  3  For a conjunction E of bits within a group, and E' of their complements, with the reports' shares P*:
     P(E) = (theta P*(E) - (1 - theta) P*(E')) / (2 theta - 1). Over several groups these inverses multiply: a report
     counts, in each group that E touches, theta / (2 theta - 1) if it agrees with all of E there, -(1 - theta) /
     (2 theta - 1) if with nothing, and otherwise 0; P(E) is the mean of the products.               post-processing
  4  ID3: the bit of the largest information gain divides a node, down to `max_depth`, or to a share of people below
     `min_support`, or to an entropy of the classes below `min_entropy` (our choices: ID3 stops where records agree,
     which estimates never do). Estimates are moved into [0, 1], and classes scaled to 1.        post-processing

Steps, corrected (mode="corrected"): epsilon is what all reports of one person cost together
  2  Every one of the r bits for itself, with theta = e^(epsilon / r) / (1 + e^(epsilon / r)).    randomize, epsilon / r
  4  A bit divides a node only if the reports say that it has to do with the class there (`certainty`); otherwise ID3
     takes the noise for gains, and a tree of leaves that know nothing.                               post-processing

Privacy   Local.
  Public    the schema, its taxonomies, theta; who takes part.
  2, each   Warner's rule for a bit: |ln (theta / (1 - theta))|. The r bits of a record add up.
  2, one    A report is the record or its complement. Two records that are neither equal nor complements have no report
            in common: whichever of them was sent is told apart for sure, and no epsilon holds.

What the paper claims, and where it is wrong
  It claims no epsilon. That theta hides a record is true against its complement only, so the rule for one group hides
  whether a person is x or exactly the opposite in everything, which hardly anybody is. Groups of one bit do have an
  epsilon, and the error of P(E) grows with 1 / (2 theta - 1) for every bit in E.

Reference  Du and Zhan, Using randomized response techniques for privacy-preserving data mining, KDD 2003.
           Warner, Randomized response, JASA 1965. Quinlan, Induction of decision trees, 1986.
"""

from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import exact
from dpcore.arguments import Progress
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.mechanisms.randomizers import Warner
from dpcore.methods.local.base import DEPTH, NO_EPSILON, P0, SUPPORT, LocalClassifier
from dpcore.methods.local.estimated import Booleans, Conjunctions, Stops, id3
from dpcore.methods.local.estimated.trees import LEAST_SUPPORT, MOST_DEPTH
from dpcore.methods.offers import SHOWN, Offer
from dpcore.methods.parameters import PAPER, Control, choice, learned, number, text, whole
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.reports import Questionnaire, families

Floats = NDArray[np.float64]
TOGETHER = (
    "All bits are kept or turned round together: two records that are neither equal nor complements are told apart "
    f"for sure. {NO_EPSILON}"
)
GROUPS = {"one": "All bits of a person together", "each": "Every bit for itself"}


def of_one_bit(method: Any, _: Schema) -> str:
    """What a bit gives away."""
    told = abs(log(method.theta / (1 - method.theta)))
    return f"One bit alone: local epsilon **{told:.2f}**. At 1/2, reports would tell nothing."


class DTPD(LocalClassifier):
    """DTPD, as printed and corrected. See the module for steps and privacy.

    Attributes
    ----------
    reports_ : Reports
        Of bits.
    forest_ : Forest
        One tree.
    """

    title = "DTPD"
    good_for = "comparison"
    provable_printed = "none claimed; none, or per bit"
    provable = "epsilon, local"
    page = "responses"
    offers = (
        Offer(label="DTPD: a tree from randomized bits"),
        Offer(
            label="DTPD",
            mode="paper",
            remark=f"Turned together, bits hide a person among their exact opposites only. {SHOWN}",
        ),
    )
    variants = ({}, {"max_depth": 2, "min_support": 0.2, "min_entropy": 0.0, "certainty": 0.0})
    paper = "004"
    controls = (
        Control(
            "theta",
            "theta: how probably the bits are sent as they are",
            steps=tuple(p for p in P0 if p != 0.5),
            told=of_one_bit,
            when=PAPER,
            place="epsilon",
        ),
        Control("groups", "Turned round", GROUPS, when=PAPER, place="answers"),
    )
    theta: float = number(
        default=0.7,
        most=1,
        open="(",
        about="Paper mode: the probability that bits are sent as they are; not 1/2, where reports tell nothing.",
    )
    groups: str = choice(
        default="one",
        options=("one", "each"),
        about="Paper mode: whether all bits are kept or turned round together, or every one for itself.",
    )
    max_depth: int = whole(default=5, most=MOST_DEPTH, about=DEPTH)
    min_support: float = number(default=0.02, least=LEAST_SUPPORT, most=1, open=")", about=SUPPORT)
    min_entropy: float = text(
        default=0.05, kind="float", about="Nodes with a smaller entropy of the classes, in bits, are leaves."
    )
    certainty: float = number(
        default=3.0,
        about="Corrected mode: a bit divides a node only if its covariance with a class there is so many standard "
        "errors from 0. 0 asks for none, as in paper mode. 3 is what the bundled sample and simulated tables bear out: "
        "with less, the trees of small epsilons grow on noise alone and fall below the majority class.",
    )
    artifacts = ("forest",)
    forest_: Forest = learned()

    @property
    def _stops(self) -> Stops:
        return Stops(self.max_depth, self.min_support, self.min_entropy)

    def _check(self, schema: Schema) -> None:
        self._target(schema, self.target)
        if self.theta == 0.5:
            raise ParameterError("The 'theta' parameter is 1/2, at which reports tell nothing.", "Try 0.7.")
        _ = self._stops  # refuses a negative entropy; an infinite one is a tree of one leaf

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema = table.schema
        target = self._target(schema, self.target)
        rules = Booleans(schema, target)
        names, paper = families(rules.schema.names), self.mode == "paper"
        progress(0.0, "everybody reports")
        coin = Warner(p=float(self.theta)) if paper else Warner(epsilon=exact(self.epsilon) / len(names))
        together = [names] if paper and self.groups == "one" else []
        self.reports_ = table.recode(rules.schema, rules.rules).randomize(
            Questionnaire(dict.fromkeys(names, coin), together=together),
            claimed_epsilon=inf if paper else None,
            reasons=dict.fromkeys(names, TOGETHER if together else NO_EPSILON) if paper else {},
        )
        bits = np.stack([self.reports_.values[name] for name in names], axis=1)
        every = range(len(names))
        known = Conjunctions(bits, [every] if together else [[bit] for bit in every], coin.p)
        certainty = 0.0 if paper else float(self.certainty)
        self.forest_ = id3(known, rules, schema, target, self._stops, progress, certainty=certainty)
        progress(1.0, "Done")
