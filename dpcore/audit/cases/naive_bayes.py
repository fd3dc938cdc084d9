"""Cases of NB-Synth: labels that are bought one by one, labels without noise, and tables with noise."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from dpcore.arguments import Floats
from dpcore.audit.game import Case
from dpcore.audit.tables import Worlds, bits, both, changed, even, frame_of, gained
from dpcore.language import phrase
from dpcore.mechanisms.scores.naive_bayes import class_log_scores
from dpcore.methods import NaiveBayesSynthesizer

THREE, ONE = bits("abcy", "y"), bits("ay", "y")
LABELS = Worlds(schema=THREE, pair=changed(frame_of(THREE, "0000", times=10), "1111"))
TIED = Worlds(schema=ONE, pair=changed(frame_of(ONE, "01", "00", times=5), "01"))
EVEN = even(15)


@cache
def label_losses(exponent: float) -> Floats:
    """ln of P'[label | x] / P[label | x] for the tables of `LABELS`, shape (label, a, b, c)."""
    x = np.array(list(np.ndindex(2, 2, 2)), dtype=np.uint8)
    logs = []
    for table in LABELS["pair"]:
        codes = table.astype(int)
        prior = np.bincount(codes["y"], minlength=2)
        tables = [pd.crosstab(codes["y"], codes[n]).reindex(index=[0, 1], columns=[0, 1], fill_value=0) for n in "abc"]
        scores = class_log_scores(np.log(prior + 1.0), [t.to_numpy(dtype=float) for t in tables], x, 1.0)
        logs.append(exponent * scores - np.logaddexp.reduce(exponent * scores, axis=1, keepdims=True))
    return np.asarray((logs[1] - logs[0]).T.reshape(2, 2, 2, 2))


def sum_of_losses(fitted: Any) -> float:
    """The log-likelihood ratio of all released rows; x is drawn by public lots."""
    a, b, c, label = fitted.released_codes_.T.astype(int)
    share = fitted.epsilon / len(label) / (8 * np.log(2)) if fitted.mode == "corrected" else fitted.epsilon / 6
    return round(float(label_losses(share)[label, a, b, c].sum()), 9)


CASES = (
    Case(
        key="NB-Synth/published/labels",
        name=phrase("Algorithm 2: a thousand labels, paid for as one"),
        tale=phrase(
            "Ten equal people, or nine of them and one who differs in everything. Every released label leans a "
            "little towards the table it came from; the attacker adds up 1,000 of them. The paper charges one."
        ),
        **LABELS,
        estimator=NaiveBayesSynthesizer(mode="published", relation="replace", rows=1_000),
        number=phrase("Log-likelihood ratio of the 1,000 released rows"),
        statistic=sum_of_losses,
        trials=2_000,
        expected="caught",
    ),
    Case(
        key="NB-Synth/published/Alg1",
        name=phrase("Algorithm 1: labels without noise"),
        tale=phrase(
            "Five people of each class, or one of them in the other class. All rows with smokes = 0 get the more "
            "frequent class, without noise, so one person decides all of these labels."
        ),
        **TIED,
        estimator=NaiveBayesSynthesizer(mode="published", variant="Alg1", relation="replace", rows=50),
        number=phrase("Released rows of class 1, out of 50"),
        statistic=lambda fitted: float(fitted.released_codes_[:, 1].sum()),
        trials=500,
        expected="no claim",
    ),
    *both(
        "NB-Synth/corrected/C1",
        phrase("C1: the noisy table, one row"),
        phrase(
            "Fifteen rows of each kind, or {other}. All of epsilon buys the one table of class and column, and the "
            "attacker looks at what that row changes in it."
        ),
        EVEN,
        NaiveBayesSynthesizer(),
        (phrase("Released number of rows (1, 1)"), phrase("Released number of rows (1, 1) less that of rows (0, 0)")),
        lambda fitted: gained(fitted.tables_[0], fitted.relation),
        4_000,
    ),
    Case(
        key="NB-Synth/corrected/rows",
        name=phrase("C1 with columns from the model: the synthetic rows"),
        tale=phrase(
            "Fifteen rows of each kind, or the same and one more (1, 1). The attacker has 1,000 synthetic rows and "
            "counts the (1, 1) among them. Rows are drawn from the noisy table, so they can tell no more than it does."
        ),
        schema=ONE,
        pair=EVEN.added,
        estimator=NaiveBayesSynthesizer(x_source="model"),
        number=phrase("Synthetic rows (1, 1), out of 1,000"),
        statistic=lambda fitted: float((fitted.sample(1_000)[["a", "y"]] == "1").all(axis=1).sum()),
        trials=1_000,
    ),
    Case(
        key="NB-Synth/corrected/C2",
        name=phrase("C2: a thousand labels, each paid for"),
        tale=phrase(
            "The two worlds and the attacker of Algorithm 2: ten equal people, or nine of them and one who differs "
            "in everything. Each of the 1,000 labels has a thousandth of epsilon, so that all of them together keep it."
        ),
        **LABELS,
        estimator=NaiveBayesSynthesizer(variant="C2", rows=1_000, relation="replace"),
        number=phrase("Log-likelihood ratio of the 1,000 released rows"),
        statistic=sum_of_losses,
        trials=1_000,
    ),
)
