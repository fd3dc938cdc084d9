"""What can be compared: three questions, or methods and modes, epsilons, repeats and measures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import streamlit as st

from dpcore.dashboard import controls
from dpcore.dashboard.epsilon import EPSILONS
from dpcore.dashboard.shell import escape
from dpcore.dashboard.widgets import caption, lasting
from dpcore.datasets import Dataset
from dpcore.errors import ParameterError
from dpcore.evaluate.evaluator import RANGE_ERROR, measures_of, undefined_measures
from dpcore.evaluate.learners import MODELS
from dpcore.experiment import Config, Method
from dpcore.language import phrase, retold, say
from dpcore.methods import METHODS

MODES = {"corrected": phrase("corrected"), "published": phrase("as published")}
LABELS = {"corrected": phrase("{method} | corrected"), "published": phrase("{method} | as published")}
Offered = Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]]]]
"""By the name on the screen: the method, and by mode the parameters that differ from its own."""


def methods_of_pages(*pages: str) -> Offered:
    """What can be compared of the methods of some pages."""
    return {
        shown: (name, ways)
        for name, kind in METHODS.items()
        if kind.page in pages
        for shown, ways in (kind.comparison_variants or {name: {mode: {} for mode in kind.modes}}).items()
    }


GROUPS: Mapping[str, Offered] = {
    phrase("Synthesizers"): methods_of_pages("naive_bayes", "networks", "taxonomy"),
    phrase("Classifiers"): methods_of_pages("forests"),
    phrase("Local"): methods_of_pages("responses"),
}
LOCAL = tuple(GROUPS["Local"])
CATALOG: Offered = {name: way for offered in GROUPS.values() for name, way in offered.items()}
# What the papers call AVD, average variation distance, is a distance here.
DISTANCES = (phrase("1-way distance"), phrase("2-way distance"), phrase("3-way distance"))
MEASURES = ("accuracy", "balanced accuracy", "1-way AVD", "2-way AVD", "3-way AVD", RANGE_ERROR)
REPEATS, MOST_REPEATS, MOST_METHODS, MOST_RUNS = 4, 20, 10, 2_000
SEEDS = (0, 2**31, None)  # lowest, highest, usual


@dataclass(frozen=True)
class PresetQuestion:
    """A question that a comparison answers by the first of some methods that the data allow, at most `limit`."""

    words: str
    methods: tuple[str, ...]
    limit: int
    epsilons: tuple[float, ...] = (0.5,)
    modes: tuple[str, ...] = ("corrected",)
    relation: str = "add_remove"


QUESTIONS = {
    "keeps": PresetQuestion(
        phrase("Which method keeps most?"),
        ("Adaptive marginals", "NB-Synth", "MST", "Independent marginals", "PrivBayes refined", "PrivBayes"),
        limit=4,
    ),
    "buys": PresetQuestion(
        phrase("What does epsilon buy?"),
        ("Adaptive marginals", "MST", "Independent marginals"),
        limit=1,
        epsilons=(0.1, 0.3, 1.0),
    ),
    "proof": PresetQuestion(
        phrase("What does the proof cost?"),
        ("JTree", "HMPrivBayes", "PrivSCBN", "NB-Synth"),
        limit=2,
        modes=("corrected", "published"),
        relation="replace",  # most methods as published take the number of rows as known
    ),
}


def preset(question: PresetQuestion, data: Dataset) -> Config | None:
    """The comparison that answers a question; None if the data allow none of its methods."""
    measures = ["2-way AVD"] if len(data.schema) > 1 else ["1-way AVD"]
    how: Any = {"epsilons": question.epsilons, "repeats": REPEATS, "measures": measures, "models": MODELS[:1]}
    found = [plan_of([name], question.modes, question.relation, None, data, **how) for name in question.methods]
    allowed = [config.methods for config, left_out in found if not left_out][: question.limit]
    methods = {label: method for part in allowed for label, method in part.items()}
    return Config(methods, skip=True, **how) if methods else None


def ask(page: str, data: Dataset, usual: Config | None) -> tuple[Config, dict[str, str]]:
    """All settings, of which some are usual; moving one draws nothing and spends nothing."""
    names: list[str] = []
    known = series_of(usual) if usual else []
    for k, (title, offered) in enumerate(GROUPS.items()):
        chosen = [name for name in known if name in offered]
        names += pills(f"{page}.methods.{k}", say(title), list(offered), chosen)
    left, right = st.columns(2, gap="large")
    with left:
        epsilons = pills(f"{page}.epsilons", say("Epsilons"), EPSILONS, (0.5,), "{:g}".format)
        modes = pills(f"{page}.modes", say("Versions"), list(MODES), ["corrected"], lambda mode: say(MODES[mode]))
        relation = controls.relation_picker(page, persons=data.schema.persons is not None)
    with right:
        measures = pills(f"{page}.measures", say("Measures"), MEASURES, ["2-way AVD"], lambda one: say(in_words(one)))
        model = lasting(st.selectbox, say("Classifier"), f"{page}.model", MODELS, format_func=say)
        repeats = lasting(st.number_input, say("Repeats"), f"{page}.repeats", 1, MOST_REPEATS, REPEATS)
        note = say("For teaching: the same numbers again. Anyone who knows the seed can subtract the noise.")
        seed = lasting(st.number_input, say("Seed (empty: none)"), f"{page}.seed", *SEEDS, step=1, help=note)
    how = {"epsilons": epsilons, "repeats": repeats, "measures": measures, "models": [model]}
    return plan_of(names, modes, relation, seed, data, **how)


def pills(key: str, label: str, options: Sequence[Any], usual: Sequence[Any], written: Any = str) -> list[Any]:
    """Some of some options, in their order."""
    how: Any = {"usual": list(usual), "selection_mode": "multi", "format_func": written, "wrap": True}
    chosen = lasting(st.pills, label, key, options, **how)
    return [option for option in options if option in chosen]


def series_of(config: Config) -> list[str]:
    """The names of the methods of a comparison, whichever version runs."""
    return list(dict.fromkeys(map(series, config.methods)))


def series(label: str) -> str:
    """The method that a label names with its version."""
    return label.partition(" | ")[0]


def in_words(metric: str) -> str:
    """What people read of a measure."""
    return metric.replace("AVD", "distance")


def plan_of(
    names: Sequence[str], modes: Sequence[str], relation: str, seed: int | None, data: Dataset, **how: Any
) -> tuple[Config, dict[str, str]]:
    """The sweep of those methods in those modes; what is left out of it, and why."""
    found: dict[str, Method] = {}
    left_out: dict[str, str] = {}
    for name, mode in product(names, modes):
        kind, variants = CATALOG[name]
        label = LABELS[mode].format(method=name)
        if mode not in variants:
            left_out[label] = phrase("there is no such version of it.")
            continue
        method: Any = METHODS[kind](mode=mode, relation=relation, random_state=seed, **variants[mode])
        try:
            method.check(data.schema)
        except ParameterError as error:
            left_out[label] = str(error)
            continue
        if {*how["measures"]} & {*measures_of(method)}:
            found[label] = method
        else:
            left_out[label] = phrase("it has none of the chosen measures.")
    return Config(found, skip=True, **how), left_out


def notes(config: Config, left_out: Mapping[str, str], data: Dataset) -> None:
    """What is left out of a comparison, what a seed voids, and what of a folder's rows is a sample."""
    for label, reason in left_out.items():
        why = {"label": escape(retold(label)), "reason": escape(retold(reason))}
        caption(":material/block: **{label}** is left out: {reason}", **why)
    if lacking := undefined_measures(config.methods, config.measures):
        names = escape(", ".join(dict.fromkeys(map(series, lacking))))
        caption("Releases a classifier, so only accuracies are measured: {names}.", names=names)
    if any(method.random_state is not None for method in config.methods.values()):
        caption(":red[:material/warning: With a seed nothing is proved: for teaching only.]")
    if not data.held:
        caption(
            "Runs learn from all rows of the folder; classifiers are compared on random samples: "
            "{learned:,} rows to learn from, {tested:,} to test on.",
            learned=len(data.train_sample),
            tested=len(data.test_sample),
        )


def lacks(config: Config) -> str:
    """Why this cannot be run, in a sentence; empty if it can."""
    if not config.methods or not config.epsilons or not config.measures:
        return say("Choose a method, an epsilon and a measure or more.")
    runs = len(config.methods) * len(config.epsilons) * config.repeats
    if len(series_of(config)) > MOST_METHODS or runs > MOST_RUNS:
        return say("Choose {most} methods and {runs:,} runs at most.", most=MOST_METHODS, runs=MOST_RUNS)
    return ""


def restore(page: str, config: Config) -> None:
    """Set the page's controls to a sweep, as far as they can say it."""
    first = next(iter(config.methods.values()))
    modes = [mode for mode in MODES if any(each.mode == mode for each in config.methods.values())]
    values: dict[str, Any] = {"epsilons": list(config.epsilons), "measures": list(config.measures), "modes": modes}
    values |= {"relation": str(first.relation), "repeats": config.repeats, "seed": first.random_state}
    for k, group in enumerate(GROUPS.values()):
        values[f"methods.{k}"] = [name for name in series_of(config) if name in group]
    for key, value in (values | {"model": config.models[0]}).items():
        st.session_state[f"{page}.{key}"] = value
