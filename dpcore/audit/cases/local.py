"""Cases of the methods that collect randomized answers: what all reports of one person say about them."""

from functools import cache
from math import log
from typing import Any

import numpy as np

from dpcore.audit.game import Case
from dpcore.audit.tables import Worlds, bits, changed, frame_of
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.language import phrase
from dpcore.mechanisms.randomizers import OUE, TRR, KeepOrDraw
from dpcore.methods import DTCRD, DTPD, PPNB, NonPrivateNaiveBayes
from dpcore.methods.base import PrivateEstimator

FOUR = Schema(
    columns=(
        Column(name="x", kind="categorical", categories=tuple("abcd")),
        Column(name="n", kind="continuous", lower=0, upper=10, bins=5),
        Column(name="y", kind="categorical", categories=("no", "yes")),
    ),
    target="y",
)
ROWS = (("a", 0.0, "no"), ("d", 10.0, "yes"))
PAIR = changed(frame_of(FOUR, ROWS[0]), ROWS[1])
BITS = bits("aby", "y")
ALL_BITS = Worlds(schema=BITS, pair=changed(frame_of(BITS, "000"), "111"))
ONE_BIT = Worlds(schema=BITS, pair=changed(frame_of(BITS, "000"), "010"))
HEAD = phrase("One person who says (a, 0, no) in one world and (d, 10, yes) in the other: everything differs.")


def report(fitted: Any, *family: str) -> Any:
    """What the one person reported."""
    return fitted.reports_.values[family][0]


def log_ratio(fitted: Any) -> float:
    """The log-likelihood ratio of all reports of the one person."""
    reports, found = fitted.reports_, 0.0
    for family, channel in reports.channels.items():
        if len(reports.values[family]):
            found += ratio_of(channel, reports.values[family][0], *values_of(reports.schema, family))
    return round(found, 9)


@cache
def values_of(schema: Schema, family: tuple[str, ...]) -> list[Any]:
    """A family's true value in both worlds: its code, and the number if it is one."""
    found = []
    for table in PAIR if "x" in schema.names else ALL_BITS["pair"]:
        codes = schema.encode(table)[-1].astype(int)
        sizes = [schema[name].size for name in family]
        code = int(np.ravel_multi_index([codes[schema.index(name)] for name in family], sizes))
        found.append((code, float(table["n"].iloc[-1]) if family == ("n",) else 0.0))
    return found


def ratio_of(channel: Any, said: Any, one: tuple[int, float], other: tuple[int, float]) -> float:
    """ln of P[report | other] / P[report | one]."""
    if isinstance(channel, TRR):
        return float((abs(said - one[1]) - abs(said - other[1])) / channel.scale)
    if isinstance(channel, KeepOrDraw):
        return float(log(channel.matrix[said, other[0]] / channel.matrix[said, one[0]]))
    if isinstance(channel, OUE):
        gained = log(0.5 / channel.q) - log(0.5 / (1 - channel.q))
        return gained * (float(said[other[0]]) - float(said[one[0]]))
    raise TypeError(channel)


def case(
    key: str, title: str, told: str, estimator: PrivateEstimator, looks_at: str, statistic: Any, **change: Any
) -> Case:
    """One person's reports."""
    how: dict[str, Any] = {"schema": FOUR, "pair": PAIR, "trials": 1_500, "expected": "no claim"}
    how |= {"key": key, "name": title, "estimator": estimator, "number": looks_at, "statistic": statistic}
    return Case(tale=told if "pair" in change else (HEAD, told), **{**how, **change})


def tight(key: str, title: str, told: str, estimator: PrivateEstimator, **change: Any) -> Case:
    """All reports of the one person, each of which is paid for."""
    how: dict[str, Any] = {"expected": "not caught", "trials": 3_000, **change}
    return case(key, title, told, estimator, phrase("Log-likelihood ratio of all reports"), log_ratio, **how)


EVERYTHING: dict[str, Any] = {"pairs": False, "n_questions": None, "merge": False}
CASES = (
    case(
        "PPNB/published/label",
        phrase("The class as published"),
        phrase("The class is reported as it is. No epsilon is claimed, and none holds."),
        PPNB(mode="published"),
        phrase("Reported class: 0 for no, 1 for yes"),
        lambda fitted: float(report(fitted, "y")),
        trials=500,
    ),
    case(
        "PPNB/published/numbers",
        phrase("A number as published"),
        phrase(
            "The number is multiplied by a random one, and another is added: 0 stays near 0, and 10 seldom does. No "
            "epsilon is claimed, and none holds."
        ),
        PPNB(mode="published"),
        phrase("Absolute reported number"),
        lambda fitted: float(abs(report(fitted, "n"))),
    ),
    case(
        "PPNB/published/value",
        phrase("One value by ERRPH"),
        phrase(
            "The paper claims no epsilon for the value either, but this one has it: ln(1 + 4 p0 / (1 - p0)), 1.61 at "
            "p0 = 0.5, is proved for the one report that is looked at, and the lower bound stays below."
        ),
        PPNB(mode="published", p0=0.5),
        phrase("Whether d was reported"),
        lambda fitted: float(report(fitted, "x") == 3),
        trials=3_000,
        step=" x",
    ),
    tight(
        "PPNB/corrected/record",
        phrase("The whole record, by default"),
        phrase(
            "They are asked for one column by lot, and report it with their class as one value. All that they report "
            "is looked at."
        ),
        PPNB(epsilon=2.0),
    ),
    tight(
        "PPNB/corrected/everything",
        phrase("The whole record, every column asked"),
        phrase(
            "They report class, value and number, each with a third of epsilon. All three reports are looked at "
            "together."
        ),
        PPNB(epsilon=2.0, protocol="ERRPH", **EVERYTHING),
    ),
    tight(
        "PPNB/corrected/moments",
        phrase("The whole record, numbers with Laplace noise"),
        phrase(
            "They report class, value and number, each with a third of epsilon; the number has Laplace noise. All "
            "three reports are looked at together."
        ),
        PPNB(epsilon=2.0, numbers="moments", **EVERYTHING),
    ),
    case(
        "DTPD/published/one group",
        phrase("All bits turned round together"),
        phrase(
            "One person whose three bits are 000 in one world and 010 in the other. All bits are sent as they are or"
            " all turned round, so that the first two reported bits are equal in the first world and differ in the "
            "second, in every run. No epsilon is claimed, and none holds."
        ),
        DTPD(mode="published"),
        phrase("Whether the first two reported bits differ"),
        lambda fitted: float(report(fitted, "a") != report(fitted, "b")),
        trials=500,
        **ONE_BIT,
    ),
    tight(
        "DTPD/corrected/record",
        phrase("Every bit for itself"),
        phrase(
            "One person whose three bits are 000 in one world and 111 in the other. Each bit is turned "
            "round for itself, with a third of epsilon. All reports are looked at."
        ),
        DTPD(epsilon=2.0),
        **ALL_BITS,
    ),
    case(
        "DTCRD/published/numbers",
        phrase("A number with uniform noise"),
        phrase(
            "The number gets noise that ends somewhere. Reports beyond what 0 and the noise can come to are of 10 for "
            "sure. No epsilon is claimed, and none holds."
        ),
        DTCRD(mode="published"),
        phrase("Reported number"),
        lambda fitted: float(report(fitted, "n")),
    ),
    tight(
        "DTCRD/corrected/record",
        phrase("The number and the class"),
        phrase(
            "The number gets Laplace noise and the class is randomized, each with half of epsilon. Both are looked at."
        ),
        DTCRD(epsilon=2.0),
    ),
    case(
        "Non-private naive Bayes/published/class",
        phrase("True answers"),
        phrase(
            "Everybody hands in the truth, and the classifier follows it. Nothing is claimed; more runs only make the "
            "lower bound larger."
        ),
        NonPrivateNaiveBayes(),
        phrase("Predicted probability of yes for (d, 10)"),
        lambda fitted: float(fitted.predict_proba(PAIR[1])[0, 1]),
        trials=300,
    ),
)
