"""What a paper says of a figure, judged by its runs: it holds, it does not hold, or these runs cannot tell.

A claim says that a number lies between two others: that a rise is above 0, a difference below 0, a
mean from .82 to .84. Here such a number is a weighted sum of means over repeats. Its standard error
is that of the runs' own spread, with the degrees of freedom of Welch and Satterthwaite. It is
judged by its distance from the nearest end of its interval, in standard errors: by Student's t, on
both sides, at `LEVEL` for all numbers of one part of a figure together (Holm). What lies too near
to an end cannot be told from these runs: a single number is told in 95 of 100 tries where it lies 5
standard errors from the end if their freedom is that of 5 repeats of one point, 3.6 if it is large.

There is one rule for each kind of claim, and `RULES` names them. Some say what they can tell from
`REPEATS` repeats; `tests/experiment/test_claims.py` measures it.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import digamma, polygamma
from scipy.stats import fisher_exact
from scipy.stats import t as student

from dpcore.evaluate import errors_by_query_size
from dpcore.language import phrase, plural, retold, say
from dpcore.text import Verdict

LEVEL = 0.05
REPEATS = 5  # of all runs, unless someone says otherwise; paper 000 has as many
PUBLISHED = "as published"
PAPER, PATENT = phrase("The paper says"), phrase("The patent says")
MOST = 160  # characters of a list of places that anybody reads
AXES = {"epsilon", "x", "rows", "parents", "share", "depth", "repeat"}
# numbers that need a word
POINTS = {"": "", "depth": "depth {:g}"}


class Finding(NamedTuple):
    """Whether a statement holds for one part of a figure at one point ("": at all), and a p-value.

    `p` is the probability of so clear an answer, in either direction, if the truth lies between the
    two.
    """

    part: str
    point: str
    holds: bool
    p: float


Findings = Iterator[Finding]
Curves = Mapping[str, pd.DataFrame]
Verdicts = Mapping[tuple[str, str], Verdict]
"""Answers by part and place."""


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper about a figure, and the rule by which runs judge it.

    `says` is the sentence, `rule` the name of a function in `RULES`, `arguments` its arguments, and
    `note` explains the rule to readers. Failed runs are left out. Each part of the figure, one for
    each value of the `columns`, is judged separately.
    """

    says: str
    rule: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    columns: Sequence[str] = ("data",)

    def verdicts(self, frame: pd.DataFrame) -> Verdicts:
        """Judge the claim by the runs, by part and point; empty if no run bears on it."""
        found: dict[tuple[str, str], Verdict] = {}
        for name, part in parts(frame, *self.columns):
            found |= judge(RULES[self.rule](name, part, **self.arguments))
        return found

    def line(self, frame: pd.DataFrame, source: str = PAPER) -> str:
        """Return what the source says and what the runs show; empty if no run bears on it."""
        if not (found := self.verdicts(frame)):
            return ""
        sentence = say(
            "{source}: {says}. Here it {verdict} ({runs}).",
            source=say(source),
            says=retold(self.says),
            verdict=in_words(found),
            runs=plural("{n:,} repeat", "{n:,} repeats", frame["repeat"].nunique()),
        )
        return " ".join(filter(None, [sentence, retold(self.note)]))


def judge(findings: Iterable[Finding]) -> Verdicts:
    """Combine findings into one answer for each part of a figure and each point.

    A statement holds if all its findings hold, and does not if one clearly fails. Answers that are
    not significant at `LEVEL`, corrected for their number (Holm), stay open.
    """
    together: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        together.setdefault((finding.part, finding.point), []).append(finding)
    found: dict[tuple[str, str], tuple[float, Verdict]] = {}
    for key, several in together.items():
        outside = [finding.p for finding in several if not finding.holds]
        holds = max(finding.p for finding in several), Verdict.HOLDS
        found[key] = (len(several) * min(outside), Verdict.FAILS) if outside else holds
    answers = dict.fromkeys(found, Verdict.OPEN)
    for done, (key, (p, verdict)) in enumerate(sorted(found.items(), key=lambda each: each[1][0])):
        if p * (len(found) - done) > LEVEL:
            break
        answers[key] = verdict
    return answers


def in_words(found: Verdicts) -> str:
    """Return verdicts as text: the one answer, or which parts and points have which answer.

    `found` has the answers by part of the figure and point.
    """
    answers = [answer for answer in Verdict if answer in found.values()]
    if len(answers) == 1:
        return say(answers[0])
    lines, counts = [], Counter(found.values())
    for answer in answers:
        where = [list_where(part, found, answer) for part in dict.fromkeys(part for part, _ in found)]
        lines.append(say("{answer} {where}", answer=say(answer), where=", ".join(filter(None, where))))
    if len(listed := "; ".join(lines)) <= MOST:
        return listed
    lines = [
        say("{answer} in {n:,} of {all:,} settings", answer=say(one), n=counts[one], all=len(found)) for one in answers
    ]
    return "; ".join(lines)


def list_where(part: str, found: Verdicts, answer: Verdict) -> str:
    """Return the points of a part of a figure that have the given answer, as text.

    The text is empty if there are none. `found` has the answers by part and point.
    """
    answers = {point: one for (own, point), one in found.items() if own == part}
    good = [point for point, one in answers.items() if one is answer]
    where = say("at {settings}", settings=", ".join(good)) if 0 < len(good) < len(answers) else ""
    return " ".join(filter(None, [say("for {group}", group=retold(part)) if part and good else "", where]))


def parts(frame: pd.DataFrame, *columns: str) -> list[tuple[str, pd.DataFrame]]:
    """Split a figure's rows by those of the named columns that have several values.

    Returns each part with its name: the values of these columns, joined by commas.
    """
    names = [name for name in columns if frame[name].nunique() > 1]
    found = frame.groupby(names, sort=False) if names else [((), frame)]
    return [(", ".join(map(str, key)), part) for key, part in found]


def curves(frame: pd.DataFrame, x: str, *, mode: str = PUBLISHED, value: str = "value", **only: str) -> Curves:
    """Return, by series, the `mean`, `var` and `count` of the runs at each point of the axis.

    `x` is the column of the points, `value` that of the numbers. The runs are those of one `mode`
    (as published or corrected), or of all if it is ""; `only` selects rows by column and value.
    """
    for name, chosen in (only | ({"mode": mode} if mode else {})).items():
        frame = frame[frame[name] == chosen]
    points = frame.groupby(["series", x], sort=False)[value].agg(["mean", "var", "count"]).dropna(subset=["mean"])
    series = dict.fromkeys(points.index.get_level_values(0))
    return {str(one): points.loc[one].sort_index() for one in series}


def curves_of(frame: pd.DataFrame, x: str, each: str = "", **how: Any) -> Iterator[tuple[str, Curves]]:
    """Yield curves for each value of the column `each`, with that value's name, or all at once.

    `x` is the column of the points; `how` is passed to `curves`. If a column is "depth", depths are
    taken out of the series' names.
    """
    if "depth" in (x, each):
        series = frame["series"].str.partition(": depth ")
        frame = frame.assign(series=series[0], depth=pd.to_numeric(series[2]))
    for point, rows in frame.groupby(each) if each else [("", frame)]:
        yield format_point(each, point), curves(rows, x, **how)


def format_point(name: str, point: Any) -> str:
    """Return a point of an axis as text for readers; `name` is the column of the axis."""
    return POINTS.get(name, "{:g}").format(point)


def finding(
    part: str, point: str, value: float, error: float, freedom: float, *, low: float = 0.0, high: float = inf
) -> Finding:
    """Judge whether an estimate lies in [low, high], from its standard error.

    `part` and `point` are names for the answer: the part of the figure and the point of the axis.
    `value` is the estimate, `error` its standard error with `freedom` degrees of freedom. An error
    that is NaN, from too few runs, gives no answer.
    """
    far = min(abs(value - low), abs(value - high))
    p = 2 * student.sf(far / error, freedom) if error > 0 else float(np.isnan(error))
    return Finding(part, point, low < value < high, p)


def weighted_sum(*terms: tuple[Any, pd.DataFrame]) -> tuple[float, float, float]:
    """Return a weighted sum of runs' means, its standard error and degrees of freedom.

    Each term has the weights of a curve's points, or one weight for all, and the curve. Runs that
    are all equal prove something if there are `REPEATS` of each: fewer may agree by chance.
    """
    points = pd.concat([curve for _, curve in terms])
    weights = np.concatenate([np.broadcast_to(weight, len(curve)) for weight, curve in terms])
    squares = weights**2 * points["var"].to_numpy() / points["count"].to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = squares.sum() ** 2 / (squares**2 / (points["count"].to_numpy() - 1)).sum()
    same = not squares.sum() and points["count"].min() < REPEATS
    error = math.nan if same else math.sqrt(squares.sum())
    return float(weights @ points["mean"].to_numpy()), error, float(freedom)


def line_weights(curve: pd.DataFrame) -> Any:
    """Return weights by which a curve's means sum to the rise of its least-squares line.

    The rise is from the first point to the last; points count as evenly spaced.
    """
    order = np.arange(len(curve)) - (len(curve) - 1) / 2
    return order * (len(curve) - 1) / (order**2).sum()


def rises(
    name: str,
    part: pd.DataFrame,
    *,
    x: str,
    own: str = "",
    each: str = "",
    sign: int = 1,
    least: float = 0.0,
    **how: Any,
) -> Findings:
    """Judge whether curves rise, by their least-squares lines; with `sign` = -1, whether they fall.

    `part` has the runs of one part of a figure, `name` is its name, and `x` the column of the
    points. `own` is the only series to judge, by default all are. Curves are judged at each value
    of the column `each`, if given. A curve may fluctuate. One whose rise is surely below `least`
    does not rise.

    With `REPEATS` repeats of 6 points a rise by 2.2 standard deviations of a run is recognized in
    95 of 100 tries: the line's standard error is .53 of them.
    """
    for where, found in curves_of(part, x, each, **how):
        for series, curve in found.items():
            if len(curve) > 1 and own in ("", series):
                title = f"{'' if own else series} {name}".strip()
                rise = weighted_sum((sign * line_weights(curve), curve))
                above = finding(title, where, *rise)
                yield above if above.p <= LEVEL else finding(title, where, *rise, low=least)


def steadies(name: str, part: pd.DataFrame, *, x: str, own: str) -> Findings:
    """Judge whether the variance of the series `own` falls, by a line through its logarithms.

    `part` has the runs of one part of a figure, `name` is its name, and `x` the column of the
    points. Points whose runs are all equal are left out, because the variance 0 has no logarithm.

    For n normally distributed runs, the logarithm of the sample variance is off by psi((n - 1) / 2)
    - log((n - 1) / 2) in the mean, and has the variance psi'((n - 1) / 2): .64 for 5 repeats. A
    fall to 1 / 7.5 half-way along 16 points is recognized in 98 of 100 tries with 5 repeats, in 75
    with 3.
    """
    for series, curve in curves(part, x).items():
        curve = curve[curve["var"] > 0]
        if series == own and len(curve) > 1:
            weights, half = -line_weights(curve), (curve["count"].to_numpy() - 1) / 2
            logs = np.log(curve["var"].to_numpy()) - digamma(half) + np.log(half)
            error = math.sqrt((weights**2 * polygamma(1, half)).sum())
            yield finding(name, "", float(weights @ logs), error, inf)


def hardly_rises(name: str, part: pd.DataFrame, *, x: str, factor: float) -> Findings:
    """Judge whether each curve's last point is below `factor` times its first.

    `part` has the runs of one part of a figure, `name` is its name, and `x` the column of the
    points. With `REPEATS` repeats whose standard deviation is a tenth of their mean, a curve that
    rises by .7 times the factor, or by 1.35 times it, is recognized in 95 of 100 tries.
    """
    for series, curve in curves(part, x, mode="").items():
        if len(curve) > 1:
            found = weighted_sum((1, curve.iloc[-1:]), (-factor, curve.iloc[:1]))
            yield finding(f"{series} {name}".strip(), "", *found, low=-inf, high=0)


def grows_less(name: str, part: pd.DataFrame, *, own: Sequence[str], other: str = "", factor: float = 1.0) -> Findings:
    """Judge whether errors of range queries grow less than `factor`, or than another series'.

    `own` has the names of the series to judge. The growth is the error of the largest queries,
    divided by that of the smallest. With `other`, the name of a series, it must be below `factor`
    times the growth of that series. Each repeat gives one growth, whose logarithm is judged. `part`
    has the runs of one part of a figure, and `name` is its name.
    """
    growth = []
    for repeat, runs in part.groupby("repeat"):
        errors = errors_by_query_size(runs).groupby("release")["absolute"]
        log = (errors.last() / errors.first()).map(np.log).rename_axis("series").reset_index(name="value")
        growth.append(log.assign(repeat=repeat, x=0))
    found = curves(pd.concat(growth), "x", mode="")
    for series in (one for one in own if {one, other or one} <= set(found)):
        terms = [(-1, found[series]), *([(1, found[other])] if other else [])]
        yield finding(f"{series} {name}".strip(), "", *weighted_sum(*terms), low=-math.log(factor))


def grows_by(
    name: str,
    part: pd.DataFrame,
    *,
    x: str,
    own: str = "",
    other: str = "",
    low: float = 1e-9,
    high: float = inf,
    **how: Any,
) -> Findings:
    """Judge whether curves grow by a factor from `low` to `high` per step along the axis.

    The factor is that of the straight line through the logarithms of the runs, in the order of the
    points. With `other`, the name of a series, the ratio of the curves to that series is judged.
    `part` has the runs of one part of a figure, `name` is its name, `x` the column of the points,
    and `own` the only series to judge, by default all.

    With `REPEATS` repeats of 4 points whose logarithms have the standard deviation .1, a factor
    that is 10% from an end is recognized in 95 of 100 tries; so is one that is 13% from it, if it
    is the factor of a ratio.
    """
    values = part[how.get("value", "value")]
    found = curves(part.assign(**{str(values.name): np.log(values.where(values > 0))}), x, **how)
    for series, curve in found.items():
        base = found.get(other or series, curve.head(0))
        shared = curve.index.intersection(base.index)
        if own in ("", series) and series != other and len(shared) > 1:
            weights = line_weights(curve.loc[shared]) / (len(shared) - 1)
            step = weighted_sum((weights, curve.loc[shared]), *[(-weights, base.loc[shared])][: len(other)])
            title = f"{'' if own else series} {name}".strip()
            yield finding(title, "", *step, low=math.log(low), high=math.log(high))


def lies_below(
    name: str,
    part: pd.DataFrame,
    *,
    x: str,
    own: str,
    others: Sequence[str] = (),
    above: bool = False,
    level: bool = False,
    where: Mapping[str, Sequence[float]] | None = None,
    **how: Any,
) -> Findings:
    """Judge whether the series `own` lies below other series, in the mean of all points.

    `part` has the runs of one part of a figure, `name` is its name, and `x` the column of the
    points. `others` are compared, by default all. With `above`, the series must lie above them.
    With `level`, the series is a line with one point, and must lie below at every point of the
    others. `where` has an interval per data set: the series must lie below at each point above its
    lower and up to its upper end, and above at all other points.

    With `REPEATS` repeats of 6 points a difference by 1.2 standard deviations of a run is
    recognized in 95 of 100 tries in the mean, and one by 3 at each single point.
    """
    found, data = curves(part, x, **how), str(part["data"].iloc[0])
    if own not in found or (where is not None and data not in where):
        return
    low, high = where[data] if where else (-inf, inf)
    for series in others or [one for one in found if one != own]:
        shared = found.get(series, found[own].head(0)).index
        shared = shared if level else shared.intersection(found[own].index)
        for one in [shared[[at]] for at in range(len(shared))] if where or level else [shared] if len(shared) else []:
            mine, theirs = found[own] if level else found[own].loc[one], found[series].loc[one]
            sign = 1 if above != bool(not where or low < one[0] <= high) else -1
            found_here = weighted_sum((-sign / len(mine), mine), (sign / len(theirs), theirs))
            yield finding(name, format_point(x, one[0]) if where else "", *found_here)


def nears(name: str, part: pd.DataFrame, *, x: str, own: Sequence[str], level: str, **how: Any) -> Findings:
    """Judge whether curves end nearer to the last point of the series `level` than they begin.

    Nearer from below or from above. `own` has the names of the curves to judge, `part` the runs of
    one part of a figure; `name` is its name, and `x` the column of the points.

    With `REPEATS` repeats a last point that is nearer by 2.8 standard deviations of a run is
    recognized in 95 of 100 tries, if both ends are on one side of the level and a deviation or more
    from it; in 60, if the last is at the level. The side of a point is taken from its mean, so one
    that is at the level seems farther off than it is.
    """
    found = curves(part, x, **how)
    for series in (one for one in own if {one, level} <= set(found) and len(found[one]) > 1):
        ends, goal = found[series].iloc[[0, -1]], found[level].iloc[[-1]]
        sides = np.sign(ends["mean"].to_numpy() - goal["mean"].to_numpy()) * (1, -1)
        yield finding(f"{series} {name}".strip(), "", *weighted_sum((sides, ends), (-sides.sum(), goal)))


def nearly_best(
    name: str, part: pd.DataFrame, *, x: str, own: str, span: Sequence[float], within: float, **how: Any
) -> Findings:
    """Judge whether a curve's mean over a span of points is within a margin of its best point.

    `span` has the first and the last point of the mean, `within` is the margin, and `own` a text
    that the names of the series to judge contain. With `below`, it is judged instead whether every
    point below the span is worse than this mean by more than `within`: where smaller is more
    private, no more private point then does as well. `part` has the runs of one part of a figure,
    `name` is its name, and `x` the column of the points.

    With `REPEATS` repeats of 8 points in the mean and 3 below, a difference of 2.8 standard
    deviations of a run from the margin is recognized in 95 of 100 tries.
    """
    below = how.pop("below", False)
    for series, curve in curves(part, x, **how).items():
        if own in series and len(inside := curve.loc[span[0] : span[1]]):
            mean = np.isin(curve.index, inside.index) / len(inside)
            # which is the best is not known: against each
            for index, best in zip(curve.index, np.eye(len(curve)), strict=True):
                lost, *error = weighted_sum((best - mean, curve))
                if not below:
                    yield finding(f"{series} {name}".strip(), "", lost, *error, low=-inf, high=within)
                elif index < span[0]:
                    yield finding(f"{series} {name}".strip(), format_point(x, index), -lost, *error, low=within)


def alike(
    name: str,
    part: pd.DataFrame,
    *,
    x: str,
    each: str,
    own: str,
    other: str,
    within: float,
    signed: bool = False,
    **how: Any,
) -> Findings:
    """Judge whether two series differ by less than `within` in the mean over all points.

    `own` and `other` are the names of the series. With `signed`, only a lead of `other` counts as a
    difference. Series are compared at each value of the column `each`. `part` has the runs of one
    part of a figure, `name` is its name, and `x` the column of the points.

    With `REPEATS` repeats of 6 points two samples of one series are found alike in 90 of 100 tries,
    if a run's standard deviation is `within` or less, and found different if they are twice as far
    apart.
    """
    for where, found in curves_of(part, x, each, **how):
        nothing = pd.DataFrame()
        shared = found.get(own, nothing).index.intersection(found.get(other, nothing).index)
        if len(shared):
            share = 1 / len(shared)
            lost = weighted_sum((share, found[other].loc[shared]), (-share, found[own].loc[shared]))
            yield finding(name, where, *lost, low=-inf if signed else -within, high=within)


def dips(name: str, part: pd.DataFrame, *, x: str, own: str, at: float, other: str = "", **how: Any) -> Findings:
    """Judge whether the series `own` is lower at the point `at` than at both ends.

    With `other`, the name of a series, it is judged instead whether `own` dips less than that
    series: how far it is, at the points nearest to `at`, below the mean of both ends. `part` has
    the runs of one part of a figure, `name` is its name, and `x` the column of the points.
    """
    found, terms = curves(part, x, **how), []
    for series in filter(None, (own, other)):
        if series not in found:
            return
        curve, far = found[series], np.abs(found[series].index.to_numpy() - at)
        terms.append((curve.iloc[[0]], curve.iloc[[-1]], curve[far == far.min()]))
    if other:
        both = [
            ((sign / 2, first), (sign / 2, last), (-sign / len(low), low))
            for sign, (first, last, low) in zip((-1, 1), terms, strict=True)
        ]
        yield finding(name, "", *weighted_sum(*both[0], *both[1]))
    else:
        first, last, low = terms[0]
        for end in (first, last):
            yield finding(name, "", *weighted_sum((1, end), (-1 / len(low), low)))


def reaches(
    name: str, part: pd.DataFrame, *, x: str, own: str, level: str, within: float, below: float = 0.0, **how: Any
) -> Findings:
    """Judge whether the series `own` ends less than `within` below a baseline.

    `level` is the column of the baseline. With `below`, a share, it is judged at each point instead
    whether the series is below the baseline by that share of it, give or take `within`. `part` has
    the runs of one part of a figure, `name` is its name, and `x` the column of the points.
    """
    curve, levels = (curves(part, x, value=one, **how).get(own, pd.DataFrame()) for one in ("value", level))
    for at in curve.index if below else curve.index[-1:]:
        lost = weighted_sum((1 - below, levels.loc[[at]]), (-1, curve.loc[[at]]))
        yield finding(name, format_point(x, at) if below else "", *lost, low=-within if below else -inf, high=within)


def lies_between(
    _: str, part: pd.DataFrame, *, data: str, model: str, epsilon: float, low: float, high: float
) -> Findings:
    """Judge whether all runs of paper 000 with one model and epsilon lie in [low, high].

    `part` has the runs of a figure, `data` is the name of a data set, and `model` that of a
    classifier. The statement holds if all runs lie inside, and there are `REPEATS` or more. It does
    not if fewer lie inside than Fisher's exact test allows, against `REPEATS` of `REPEATS` in the
    paper.
    """
    for column, chosen in {"data": data, "model": model, "epsilon": epsilon, "mode": PUBLISHED}.items():
        part = part[part[column] == chosen]
    if count := len(part):
        good = int(part["value"].between(low, high).sum())
        p = float(fisher_exact([[REPEATS, 0], [good, count - good]]).pvalue)
        yield Finding("", "", good == count, p if good < count else float(count < REPEATS))


RULES: Mapping[str, Callable[..., Findings]] = {rule.__name__: rule for rule in (
    rises, steadies, hardly_rises, grows_less, grows_by, lies_below, nears, nearly_best, alike, dips, reaches,
    lies_between,
)}  # fmt: skip
"""What judges one part of a figure, by its name and its runs."""
