"""Sentences that answer what a comparison asked, computed from its runs and their variation."""

import pandas as pd

from dpcore.dashboard.pages.compare.sweep import MODES, measure_name
from dpcore.dashboard.shell import escape
from dpcore.language import phrase, say
from dpcore.text import number, percent

FEWEST = 4  # runs of each: with three, chance alone puts all ahead in one of ten cases
NEAR = 1.1  # tolerated multiple of a fresh sample's distance, itself one random draw


def is_better(one: pd.Series, other: pd.Series, metric: str) -> bool:
    """Return whether every run of one method is better than every run of another.

    `one` and `other` are values of the measure `metric`, one per run. With fewer than 4 runs of
    either method, the answer is no.
    """
    ahead = one.min() > other.max() if higher_is_better(metric) else one.max() < other.min()
    return bool(ahead) and min(len(one), len(other)) >= FEWEST


def higher_is_better(metric: str) -> bool:
    """Return whether higher values of the measure `metric` are better: for accuracies only."""
    return "accuracy" in metric


def format_value(found: float, metric: str) -> str:
    """Return the text of a value of the measure `metric`: percent for accuracies, or two digits."""
    return percent(found) if higher_is_better(metric) else f"{found:.2g}"


def answer_sentence(runs: pd.DataFrame, metric: str, floor: float = 0.0) -> str:
    """Return the sentence that the successful `runs` of a comparison allow about one measure.

    The sentence states the cost of the proof if a method ran in both versions, the gain of epsilon
    if one method ran at several, and otherwise the ranking of the methods. `floor` is the
    sampling-noise floor: the distance between the real rows and a fresh sample of them.
    """
    last = runs[runs["epsilon"] == runs["epsilon"].max()]
    both = last.groupby("series")["mode"].transform("nunique") > 1
    if both.any():
        return cost_of_proof(last[both], metric)
    if runs["method"].nunique() == 1 and len(last) < len(runs):
        return gain_of_epsilon(runs, metric, floor)
    proved = last[last["epsilon_bound"] <= last["epsilon"]]
    return rank_methods(proved if len(proved) else last, metric)


def cost_of_proof(runs: pd.DataFrame, metric: str) -> str:
    """Return the sentence on how much worse each corrected method is than the method as published.

    `runs` are those at the largest epsilon of methods that ran in both versions; `metric` is the
    measure in which the versions are compared.
    """
    clauses = []
    for name, part in runs.groupby("series", sort=False):
        modes = part.groupby("mode")["value"]
        proved, published = (modes.get_group(MODES[mode]) for mode in ("corrected", "published"))
        message, cost = phrase("{name} {cost} (corrected {value}, as published {other})"), say("nothing")
        if is_better(published, proved, metric):
            cost = format_value(abs(proved.median() - published.median()), metric)
        elif not is_better(proved, published, metric):
            message = phrase("{name} nothing beyond run-to-run variation")
        found = {"value": format_value(proved.median(), metric), "other": format_value(published.median(), metric)}
        clauses.append(say(message, name=escape(str(name)), cost=cost, **found))
    which = {"metric": say(measure_name(metric)), "epsilon": number(runs["epsilon"].max())}
    return say("Cost of the correction in {metric} at epsilon {epsilon}: {costs}.", costs="; ".join(clauses), **which)


def gain_of_epsilon(runs: pd.DataFrame, metric: str, floor: float = 0.0) -> str:
    """Return the sentence on how one method improves with epsilon, and where the gain ends.

    `runs` are those of one method at several epsilons. The gain ends where it cannot be told from
    run-to-run variation, or at the sampling-noise floor: `floor`, the distance between the real
    rows and a fresh sample of them.
    """
    groups = {float(str(epsilon)): part["value"] for epsilon, part in runs.groupby("epsilon")}
    first, *_, last = groups
    enough = next(epsilon for epsilon, found in groups.items() if not is_better(groups[last], found, metric))
    if enough == first:
        gain = phrase("stays within run-to-run variation")
    elif enough < last:
        gain = phrase("goes from {low} to {high}; above {enough}, the gain is within run-to-run variation")
    elif groups[last].median() <= NEAR * floor:
        gain = phrase("goes from {low} to {high}, as close to the real rows as a fresh sample of them")
    else:
        gain = phrase("goes from {low} to {high}, and still improves")
    low, high = (format_value(groups[epsilon].median(), metric) for epsilon in (first, last))
    return say(
        "{method}: from epsilon {first} to {last}, the {metric} {gain}.",
        method=escape(str(runs["series"].iloc[0])),
        first=number(first),
        last=number(last),
        metric=say(measure_name(metric)),
        gain=say(gain, low=low, high=high, enough=number(enough)),
    )


def rank_methods(runs: pd.DataFrame, metric: str) -> str:
    """Return the sentence on which method is best, or which cannot be told apart from the best.

    All `runs` are compared in the measure `metric`, by the median over the runs of each method.
    """
    groups = {str(name): part["value"] for name, part in runs.groupby("series", sort=False)}
    best, *others = sorted(groups, key=lambda name: groups[name].median(), reverse=higher_is_better(metric))
    values = {"metric": say(measure_name(metric)), "epsilon": number(runs["epsilon"].max()), "best": escape(best)}
    values["value"] = format_value(groups[best].median(), metric)
    if not others:
        return say("At epsilon {epsilon}, the {metric} of {best} is {value}.", **values)
    if rest := [name for name in others if not is_better(groups[best], groups[name], metric)]:
        return say(
            "At epsilon {epsilon}, these are within run-to-run variation in {metric}, the best at {value}: {others}.",
            others=escape(", ".join([best, *rest])),
            **values,
        )
    values |= {"second": escape(others[0]), "other": format_value(groups[others[0]].median(), metric)}
    return say("At epsilon {epsilon}, {best} is best in {metric}: {value}. Next is {second} with {other}.", **values)
