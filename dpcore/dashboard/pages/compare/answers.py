"""What a comparison answers, in a sentence computed from its runs, with what is only variation."""

import pandas as pd

from dpcore.dashboard.pages.compare.sweep import MODES, in_words
from dpcore.dashboard.shell import escape
from dpcore.language import phrase, say
from dpcore.text import number, percent

FEWEST = 4  # runs of each: of three, one time in ten all are better by chance
NEAR = 1.1  # times the distance of a fresh sample: that, too, is one random draw


def better(one: pd.Series, other: pd.Series, metric: str) -> bool:
    """Whether all runs of one are better than all of another, and not too few."""
    ahead = one.min() > other.max() if rises(metric) else one.max() < other.min()
    return bool(ahead) and min(len(one), len(other)) >= FEWEST


def rises(metric: str) -> bool:
    """Whether higher is better."""
    return "accuracy" in metric


def value(found: float, metric: str) -> str:
    """A median of runs, or a difference, as a sentence says it."""
    return percent(found) if rises(metric) else f"{found:.2g}"


def sentence(runs: pd.DataFrame, metric: str, floor: float = 0.0) -> str:
    """The answer of the runs that did not fail: a proof's cost, epsilon's gain, or which is ahead.

    `floor` is the distance of a fresh sample of the real rows.
    """
    last = runs[runs["epsilon"] == runs["epsilon"].max()]
    both = last.groupby("series")["mode"].transform("nunique") > 1
    if both.any():
        return cost_of_proof(last[both], metric)
    if runs["method"].nunique() == 1 and len(last) < len(runs):
        return gain_of_epsilon(runs, metric, floor)
    proved = last[last["epsilon_bound"] <= last["epsilon"]]
    return ranking(proved if len(proved) else last, metric)


def cost_of_proof(runs: pd.DataFrame, metric: str) -> str:
    """What a proof costs each method at an epsilon."""
    clauses = []
    for name, part in runs.groupby("series", sort=False):
        modes = part.groupby("mode")["value"]
        proved, published = (modes.get_group(MODES[mode]) for mode in ("corrected", "published"))
        message, cost = phrase("{name} {cost} ({value}, as published {other})"), say("nothing")
        if better(published, proved, metric):
            cost = value(abs(proved.median() - published.median()), metric)
        elif not better(proved, published, metric):
            message = phrase("{name} nothing that can be told from run-to-run variation")
        found = {"value": value(proved.median(), metric), "other": value(published.median(), metric)}
        clauses.append(say(message, name=escape(str(name)), cost=cost, **found))
    which = {"metric": say(in_words(metric)), "epsilon": number(runs["epsilon"].max())}
    return say("In {metric} at epsilon {epsilon}, the cost of the proof: {costs}.", costs="; ".join(clauses), **which)


def gain_of_epsilon(runs: pd.DataFrame, metric: str, floor: float = 0.0) -> str:
    """From which epsilon on more of it makes no difference that can be told."""
    groups = {float(str(epsilon)): part["value"] for epsilon, part in runs.groupby("epsilon")}
    first, *_, last = groups
    enough = next(epsilon for epsilon, found in groups.items() if not better(groups[last], found, metric))
    if enough == first:
        gain = phrase("stays within run-to-run variation")
    elif enough < last:
        gain = phrase("goes from {low} to {high}; above {enough}, the gain is within run-to-run variation")
    elif groups[last].median() <= NEAR * floor:
        gain = phrase("goes from {low} to {high}, as close as a fresh sample")
    else:
        gain = phrase("goes from {low} to {high}, and still improves")
    low, high = (value(groups[epsilon].median(), metric) for epsilon in (first, last))
    return say(
        "{method}: from epsilon {first} to {last}, the {metric} {gain}.",
        method=escape(str(runs["series"].iloc[0])),
        first=number(first),
        last=number(last),
        metric=say(in_words(metric)),
        gain=say(gain, low=low, high=high, enough=number(enough)),
    )


def ranking(runs: pd.DataFrame, metric: str) -> str:
    """Which method is ahead at an epsilon, and whether that can be told."""
    groups = {str(name): part["value"] for name, part in runs.groupby("series", sort=False)}
    best, *others = sorted(groups, key=lambda name: groups[name].median(), reverse=rises(metric))
    values = {"metric": say(in_words(metric)), "epsilon": number(runs["epsilon"].max()), "best": escape(best)}
    values["value"] = value(groups[best].median(), metric)
    if not others:
        return say("At epsilon {epsilon}, the {metric} of {best} is {value}.", **values)
    if rest := [name for name in others if not better(groups[best], groups[name], metric)]:
        return say(
            "At epsilon {epsilon}, these are within run-to-run variation in {metric}, the best at {value}: {others}.",
            others=escape(", ".join([best, *rest])),
            **values,
        )
    values |= {"second": escape(others[0]), "other": value(groups[others[0]].median(), metric)}
    return say("At epsilon {epsilon}, {best} keeps most: {metric} {value}. Next is {second} with {other}.", **values)
