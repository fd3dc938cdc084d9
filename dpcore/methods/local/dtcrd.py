r"""DTCRD: decision trees from numbers with noise, by reconstructed distributions (compared with in paper 004).

Idea      Each person adds noise of a public density to every number. The distribution of the true numbers can be
          reconstructed, though no number can; records are then given to intervals so that the counts agree with it, and
          a tree is grown on the intervals.

Steps, as printed (mode="paper")
  1  Numbers with uniform or normal noise. Its width: the interval that holds 95 % of it, as a share of the public range
     (`privacy`; 1 is "100 % privacy").                                                                unprotected, each
  2  The class is handed in as it is. Categories are not used: the source knows none.                       unprotected
  3  The range of each number falls into m equal intervals (100 people for each; 10 to 100 of them: our choice), and its
     distribution over them is reconstructed (`deconvolution`): for each class (variant="by_class"), for all together
     ("global"), or for each class in every node anew ("local"), but for numbers that divided a node above: people
     were chosen there by their reports, which are no longer numbers with independent noise.          post-processing
  4  Within a class, reports are sorted; the lowest n f_1 records go to interval 1, and so on.        post-processing
  5  The boundary that lowers the Gini impurity most divides a node, down to `max_depth`, or to a share of people below
     `min_support` (our choices).                                                                     post-processing

Steps, corrected (mode="corrected"): epsilon is what all reports of one person cost together, in r + 1 equal parts e
  1  Numbers, moved into their public bounds [L, U], with Laplace noise of scale (U - L) / e.             randomize, e
     95 % of it lie in an interval of 6 (U - L) / e.
  2  The class by ERRPH.                                                                                  randomize, e
  3  As printed, with "class" for the reported class, and until a step is ten times shorter.          post-processing
  5  Counts of classes in nodes are corrected for the rule of step 2, and moved to 0 or more. Each side of a division
     has enough people for the noise of that to be .05 at most in a class's share.                    post-processing

Privacy   Local.
  Public    the schema, its bounds; the noise; m; who takes part, and so n.
  1         Laplace noise: |w - x| differs by U - L at most. Uniform noise: a report beyond x + alpha rules x out. For
            normal noise the log ratio of the densities at x and x' is linear in w, so it has no bound.
  2         See `randomizers`.
  Sum       r numbers and the class: sequential composition for one record.

What the paper claims, and where it is wrong
  It claims no epsilon, but "privacy": how wide the interval is that holds 95 % of the noise. (1) That is the width if
  a report were all that is known; with the reconstructed distribution, which is public, it is often far narrower, and
  reports near the ends of uniform noise tell the number itself. (2) r numbers of one person are r reports. (3) The
  class is not protected.

Reference  Agrawal and Srikant, Privacy-preserving data mining, SIGMOD 2000.
"""

from math import inf

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import exact
from dpcore.arguments import Progress
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.mechanisms.randomizers import ERRPH, TRR, Channel, Noised
from dpcore.methods.local.base import DEPTH, NO_EPSILON, SUPPORT, LocalClassifier
from dpcore.methods.local.estimated import VARIANTS, Reconstruction, Stops
from dpcore.methods.local.estimated.trees import LEAST_SUPPORT, MOST_DEPTH
from dpcore.methods.offers import SHOWN, Offer
from dpcore.methods.parameters import PAPER, Control, choice, learned, number, whole
from dpcore.postprocess.deconvolution import width
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.reports import Family, Questionnaire

Floats = NDArray[np.float64]
RANDOMIZERS = ("uniform", "normal")
NOISES = {"uniform": "Uniform", "normal": "Normal"}
FOR_WHOM = {"by_class": "By class", "global": "For all classes together", "local": "Anew in every node"}
MOST, WIDEST = 200, 10
CLEAR = f"The class is handed in as it is. {NO_EPSILON}"
RULED_OUT = {
    "uniform": f"A report further from a number than the noise reaches rules it out. {NO_EPSILON}",
    "normal": f"The ratio of the densities at two numbers has no bound. {NO_EPSILON}",
}


class DTCRD(LocalClassifier):
    """DTCRD, as printed and corrected. See the module for steps and privacy.

    Attributes
    ----------
    reports_ : Reports
        Of numbers and the class.
    forest_ : Forest
        One tree. A number that is missing goes right in it; to learn from, it was taken for the middle of its range.
    distributions_ : dict of str to list of lists
        The reconstructed shares of each number's intervals by reported class, or of all people ("global").
    """

    title = "DTCRD"
    good_for = "comparison"
    provable_printed = "none claimed, none"
    provable = "epsilon, local"
    page = "responses"
    offers = (
        Offer(label="DTCRD: a tree from numbers with noise"),
        Offer(
            label="DTCRD",
            mode="paper",
            remark=f"Uniform or normal noise has no finite epsilon, and the class is handed in as it is. {SHOWN}",
        ),
    )
    variants = ({}, {"variant": "global", "intervals": 7}, {"variant": "local", "max_depth": 2, "min_support": 0.1})
    paper = "004"
    controls = (
        Control("randomizer", "Noise of numbers", NOISES, when=PAPER, place="randomizer"),
        Control(
            "privacy",
            "95 % of the noise, as a share of the range",
            steps=(0.1, 0.25, 0.5, 1.0, 1.5, 2.0),
            form="{:.0%}",
            when=PAPER,
            place="privacy",
        ),
        Control("variant", "Distributions are reconstructed", FOR_WHOM, place="answers"),
    )
    variant: str = choice(default="by_class", options=VARIANTS, about="For whom distributions are reconstructed.")
    randomizer: str = choice(default="uniform", options=RANDOMIZERS, about="Paper mode: the noise.")
    privacy: float = number(
        default=1.0,
        most=WIDEST,
        open="(",
        about="Paper mode: the width of the noise's 95 % interval, as a share of a number's public range.",
    )
    intervals: int | None = whole(
        default=None,
        most=MOST,
        optional=True,
        about="m; by default one for 100 people, and 10 to 100 of them. A column of whole numbers has no more than it "
        "has numbers.",
    )
    max_depth: int = whole(default=5, most=MOST_DEPTH, about=DEPTH)
    min_support: float = number(default=0.02, least=LEAST_SUPPORT, most=1, open=")", about=SUPPORT)
    artifacts = ("forest", "distributions")
    forest_: Forest = learned()

    @property
    def _stops(self) -> Stops:
        return Stops(self.max_depth, self.min_support)

    def _check(self, schema: Schema) -> None:
        self._target(schema, self.target)

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        schema, paper = table.schema, self.mode == "paper"
        target = self._target(schema, self.target)
        ends = {c.name: (float(c.lower or 0.0), float(c.upper or 0.0)) for c in schema if c.numeric}
        numeric = {name: (low, high) for name, (low, high) in ends.items() if low < high}
        share, classes = exact(self.epsilon) / (len(numeric) + 1), schema[target].size
        channels: dict[Family, Channel] = {}
        for name, (low, high) in numeric.items():
            scale = self.privacy * (high - low) / width(self.randomizer, 1.0)
            printed = Noised(self.randomizer, scale, lower=low, upper=high)
            channels[(name,)] = printed if paper else TRR(lower=low, upper=high, epsilon=share)
        reasons = dict.fromkeys(channels, RULED_OUT[self.randomizer]) | {(target,): CLEAR}
        channels[(target,)] = ERRPH(classes, p0=1.0) if paper else ERRPH(classes, epsilon=share)
        progress(0.0, "everybody reports")
        self.reports_ = table.randomize(
            Questionnaire(channels), claimed_epsilon=inf if paper else None, reasons=reasons if paper else {}
        )
        known = Reconstruction(self.reports_, target, self.variant, self.intervals)
        self.distributions_ = {name: shares.tolist() for name, shares in known.distributions.items()}
        self.forest_ = known.tree(self._stops, progress)
        progress(1.0, "Done")
