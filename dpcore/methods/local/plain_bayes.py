r"""Naive Bayes on true answers: what PPNB is measured against.

Idea      PPNB with p0 = 1 and numbers as they are: everybody hands in the truth.

Steps     1  Everybody reports everything as it is.                                                   unprotected
          2  PPNB's steps 4 and 5; with alpha=1 the tables are those of scikit-learn's CategoricalNB. post-processing

Privacy   None, and none is claimed.

Reference  as PPNB.
"""

from math import inf

import numpy as np

from dpcore.arguments import Progress
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import NoNoise
from dpcore.mechanisms.randomizers import ERRPH, TRR, Channel
from dpcore.methods.local.base import MOST_ALPHA, LocalClassifier
from dpcore.methods.local.bayes_from_reports import bayes_of
from dpcore.methods.offers import Offer
from dpcore.methods.parameters import choice, learned, number, text
from dpcore.postprocess.naive_bayes import Bayes
from dpcore.postprocess.reports import Family, Questionnaire

REASON = "This is the reference without privacy: everybody hands in the truth."


class PlainNaiveBayes(LocalClassifier):
    """The reference without privacy; `epsilon` has no effect.

    Attributes
    ----------
    bayes_ : Bayes
    """

    title = "Plain naive Bayes"
    good_for = "the reference with true answers"
    provable_printed = "none"
    page = "responses"
    offers = (
        Offer(
            label="Plain naive Bayes",
            mode="paper",
            remark="Everybody tells the truth. For comparison on this screen only.",
        ),
    )
    paper = "004"
    modes = ("paper",)
    mode: str = text(default="paper", kind="{'paper'}", about="There is no other.")
    numbers: str = choice(
        default="moments", options=("moments", "bins"), about="Normal distributions, or the schema's bins."
    )
    alpha: float = number(
        default=1.0, most=MOST_ALPHA, open=")", about="Records added to every cell of a table by class."
    )
    artifacts, predictor = ("bayes",), "bayes"
    bayes_: Bayes = learned()

    def _fit(self, table: PrivateTable, progress: Progress) -> None:
        progress(0.0, "counting")
        schema, target = table.schema, self._target(table.schema, self.target)
        channels: dict[Family, Channel] = {}
        for column in schema:
            exact = self.numbers == "moments" and column.numeric
            channels[(column.name,)] = (
                TRR(factors=np.ones(1), offsets=np.zeros(1)) if exact else ERRPH(column.size, p0=1.0)
            )
        reasons = dict.fromkeys(channels, REASON)
        reports = table.randomize(Questionnaire(channels), claimed_epsilon=inf, reasons=reasons)  # not kept
        columns = {name: (name,) for name in schema.names if name != target}
        self.bayes_ = bayes_of(
            reports, schema, target, columns, reconstruction="clip", alpha=self.alpha, as_printed=False
        )
        self.noise_label_ = NoNoise.label.capitalize()
        progress(1.0, "Done")
