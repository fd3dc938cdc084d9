"""What a comparison answers, in a sentence that is computed from its runs, with what cannot be told from variation."""

import pandas as pd

from dpcore.dashboard.pages.compare.sweep import MODES, in_words
from dpcore.dashboard.shell import escaped
from dpcore.language import phrase, say
from dpcore.text import number, percent

FEWEST = 4  # runs of each: of three, one time in ten all are better by chance
NEAR = 1.1  # times the distance of a fresh sample: that, too, is one random draw
PUBLISHED, CORRECTED = MODES["published"], MODES["corrected"]


def better(one: pd.Series, other: pd.Series, metric: str) -> bool:
    """Whether all runs of one are better than all of another, and not too few."""
    ahead = one.min() > other.max() if rises(metric) else one.max() < other.min()
    return bool(ahead) and min(len(one), len(other)) >= FEWEST


def rises(metric: str) -> bool:
    """Whether higher is better."""
    return "accuracy" in metric


def value(runs: pd.Series | float, metric: str) -> str:
    """A median of runs, or a difference, as a sentence says it."""
    middle = float(runs if isinstance(runs, float) else runs.median())
    return percent(middle) if rises(metric) else f"{middle:.2g}"


def sentence(good: pd.DataFrame, metric: str, floor: float = 0.0) -> str:
    """The answer of the runs that did not fail: what a proof costs, what epsilon buys, or which method is ahead.

    `floor` is the distance of a fresh sample of the real rows.
    """
    runs = good[good["metric"] == metric]
    modes = runs.groupby("series")["mode"].nunique()
    if (modes > 1).any():
        return cost_of_proof(runs[runs["series"].isin(modes[modes > 1].index)], metric)
    if runs["method"].nunique() == 1 and runs["epsilon"].nunique() > 1:
        return gain_of_epsilon(runs, metric, floor)
    proved = runs[runs["epsilon_bound"] <= runs["epsilon"]]
    return ranking(proved if len(proved) else runs, metric)


def cost_of_proof(runs: pd.DataFrame, metric: str) -> str:
    """What a proof costs each method at the largest epsilon."""
    most = runs["epsilon"].max()
    clauses = []
    for name, part in runs[runs["epsilon"] == most].groupby("series", sort=False):
        found = {mode: one["value"].dropna() for mode, one in part.groupby("mode")}
        if len(found) < 2:
            continue
        proved, published = found[CORRECTED], found[PUBLISHED]
        values = {"name": escaped(str(name)), "value": value(proved, metric), "other": value(published, metric)}
        if better(proved, published, metric):
            clauses.append(say("{name} nothing ({value}, as published {other})", **values))
        elif better(published, proved, metric):
            cost = value(abs(float(proved.median() - published.median())), metric)
            clauses.append(say("{name} {cost} ({value}, as published {other})", cost=cost, **values))
        else:
            clauses.append(say("{name} nothing that can be told from run-to-run variation", **values))
    if not clauses:
        return ranking(runs, metric)
    which = {"metric": say(in_words(metric)), "epsilon": number(most)}
    return say("In {metric} at epsilon {epsilon}, the cost of the proof: {costs}.", costs="; ".join(clauses), **which)


def gain_of_epsilon(runs: pd.DataFrame, metric: str, floor: float = 0.0) -> str:
    """From which epsilon on more of it makes no difference that can be told."""
    groups = {float(str(epsilon)): part["value"].dropna() for epsilon, part in runs.groupby("epsilon")}
    first, *_, last = groups
    enough = next(epsilon for epsilon, found in groups.items() if not better(groups[last], found, metric))
    which = {"metric": say(in_words(metric)), "first": number(first), "last": number(last), "enough": number(enough)}
    which |= {"low": value(groups[first], metric), "high": value(groups[last], metric)}
    which["method"] = escaped(str(runs["series"].iloc[0]))
    if enough == first:
        message = phrase("{method}: from epsilon {first} to {last}, the {metric} stays within run-to-run variation.")
    elif enough == last and groups[last].median() <= NEAR * floor:
        message = phrase(
            "{method}: from epsilon {first} to {last}, the {metric} goes from {low} to {high}, as close as a fresh "
            "sample."
        )
    elif enough == last:
        message = phrase(
            "{method}: from epsilon {first} to {last}, the {metric} goes from {low} to {high}, and still improves."
        )
    else:
        message = phrase(
            "{method}: from epsilon {first} to {last}, the {metric} goes from {low} to {high}; above {enough}, the "
            "gain is within run-to-run variation."
        )
    return say(message, **which)


def ranking(runs: pd.DataFrame, metric: str) -> str:
    """Which method is ahead at the largest epsilon, and whether that can be told."""
    most = runs["epsilon"].max()
    parts = runs[runs["epsilon"] == most].groupby("method", sort=False)
    groups = sorted(
        ((name, part["value"].dropna()) for name, part in parts),
        key=lambda found: found[1].median(),
        reverse=rises(metric),
    )
    groups = [(str(name).partition(" | ")[0], found) for name, found in groups if len(found)]
    (best, ahead), *others = groups
    which = {"metric": say(in_words(metric)), "epsilon": number(most), "best": escaped(best)}
    which["value"] = value(ahead, metric)
    if not others:
        return say("At epsilon {epsilon}, the {metric} of {best} is {value}.", **which)
    rest = [name for name, found in others if not better(ahead, found, metric)]
    if rest:
        which["others"] = escaped(", ".join([best, *rest]))
        return say(
            "At epsilon {epsilon}, these are within run-to-run variation in {metric}, the best at {value}: {others}.",
            **which,
        )
    second, found = others[0]
    which |= {"second": escaped(second), "other": value(found, metric)}
    return say("At epsilon {epsilon}, {best} keeps most: {metric} {value}. Next is {second} with {other}.", **which)
