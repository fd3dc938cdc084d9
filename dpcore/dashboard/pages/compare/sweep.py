"""Settings of a comparison: methods, versions, epsilons, repeats, measures; preset questions."""

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
    """Return what can be compared of the methods of some pages.

    The result has, by the name on screen, the method's name and, by mode, the parameters that
    differ from its defaults.
    """
    return {
        shown: (name, ways)
        for name, kind in METHODS.items()
        if kind.page in pages
        for shown, ways in (kind.comparison_variants or {name: {mode: {} for mode in kind.modes}}).items()
    }


GROUPS: Mapping[str, Offered] = {
    phrase("Synthesizers"): methods_of_pages("naive_bayes", "networks", "taxonomy"),
    phrase("Classifiers"): methods_of_pages("forests"),
    phrase("Local methods"): methods_of_pages("responses"),
}
LOCAL = tuple(GROUPS["Local methods"])
CATALOG: Offered = {name: way for offered in GROUPS.values() for name, way in offered.items()}
# The papers' AVD (average variation distance) is called a distance on screen.
DISTANCES = (phrase("1-way distance"), phrase("2-way distance"), phrase("3-way distance"))
MEASURES = ("accuracy", "balanced accuracy", "1-way AVD", "2-way AVD", "3-way AVD", RANGE_ERROR)
REPEATS, MOST_REPEATS, MOST_METHODS, MOST_RUNS = 4, 20, 10, 2_000
SEEDS = (0, 2**31, None)  # lowest, highest, default


@dataclass(frozen=True)
class PresetQuestion:
    """A question that a comparison answers, using the first methods that can run on the data.

    `words` is the question on its button. Of `methods`, named as on screen and in this order, at
    most `limit` are compared.
    """

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
        phrase("What does a larger epsilon gain?"),
        ("Adaptive marginals", "MST", "Independent marginals"),
        limit=1,
        epsilons=(0.1, 0.3, 1.0),
    ),
    "proof": PresetQuestion(
        phrase("What does the proof cost?"),
        ("JTree", "HMPrivBayes", "PrivSCBN", "NB-Synth"),
        limit=2,
        modes=("corrected", "published"),
        relation="replace",  # most methods as published treat the number of rows as public
    ),
}


def preset_config(question: PresetQuestion, data: Dataset) -> Config | None:
    """Return the comparison that answers a preset question; None without a usable method."""
    measures = ["2-way AVD"] if len(data.schema) > 1 else ["1-way AVD"]
    how: Any = {"epsilons": question.epsilons, "repeats": REPEATS, "measures": measures, "models": MODELS[:1]}
    found = [make_config([name], question.modes, question.relation, None, data, **how) for name in question.methods]
    allowed = [config.methods for config, left_out in found if not left_out][: question.limit]
    methods = {label: method for part in allowed for label, method in part.items()}
    return Config(methods, skip=True, **how) if methods else None


def draw_controls(page: str, data: Dataset, usual: Config | None) -> tuple[Config, dict[str, str]]:
    """Draw all controls of a comparison, and return the comparison that they describe.

    Also returned is why each method that cannot run is left out, by its label. `usual` is the
    comparison that the controls show at first. No noise is drawn and no epsilon is spent.
    """
    names: list[str] = []
    known = method_names(usual) if usual else []
    for k, (title, offered) in enumerate(GROUPS.items()):
        chosen = [name for name in known if name in offered]
        names += draw_pills(f"{page}.methods.{k}", say(title), list(offered), chosen)
    left, right = st.columns(2, gap="large")
    with left:
        epsilons = draw_pills(f"{page}.epsilons", say("Epsilons"), EPSILONS, (0.5,), "{:g}".format)
        modes = draw_pills(f"{page}.modes", say("Method version"), [*MODES], ["corrected"], lambda one: say(MODES[one]))
        relation = controls.relation_picker(page, persons=data.schema.persons is not None)
    with right:
        label = say("Quality measures")
        measures = draw_pills(f"{page}.measures", label, MEASURES, ["2-way AVD"], lambda one: say(measure_name(one)))
        model = lasting(st.selectbox, say("Classifier"), f"{page}.model", MODELS, format_func=say)
        repeats = lasting(st.number_input, say("Number of repeats"), f"{page}.repeats", 1, MOST_REPEATS, REPEATS)
        note = say("For teaching: a seed gives the same noise again. Anyone who knows the seed can subtract the noise.")
        seed = lasting(st.number_input, say("Seed (empty: none)"), f"{page}.seed", *SEEDS, step=1, help=note)
    how = {"epsilons": epsilons, "repeats": repeats, "measures": measures, "models": [model]}
    return make_config(names, modes, relation, seed, data, **how)


def draw_pills(key: str, label: str, options: Sequence[Any], usual: Sequence[Any], write: Any = str) -> list[Any]:
    """Draw a choice of several options as pills, and return the chosen ones in their order.

    `usual` are the options chosen at first; `write` formats an option.
    """
    how: Any = {"usual": list(usual), "selection_mode": "multi", "format_func": write, "wrap": True}
    chosen = lasting(st.pills, label, key, options, **how)
    return [option for option in options if option in chosen]


def method_names(config: Config) -> list[str]:
    """Return the names of a comparison's methods, each once: corrected and as published are one."""
    return list(dict.fromkeys(map(method_of_label, config.methods)))


def method_of_label(label: str) -> str:
    """Return the method's name from a label such as "MST | corrected"."""
    return label.partition(" | ")[0]


def measure_name(metric: str) -> str:
    """Return the name of a measure on screen: average variation distance (AVD) is "distance"."""
    return metric.replace("AVD", "distance")


def make_config(
    names: Sequence[str], modes: Sequence[str], relation: str, seed: int | None, data: Dataset, **how: Any
) -> tuple[Config, dict[str, str]]:
    """Return the comparison of methods, and why others are left out, by label.

    `names` are names on screen, each combined with each of `modes`. `how` has the epsilons,
    repeats, measures and classifiers of the comparison.
    """
    found: dict[str, Method] = {}
    left_out: dict[str, str] = {}
    for name, mode in product(names, modes):
        kind, ways = CATALOG[name]
        label = LABELS[mode].format(method=name)
        if mode not in ways:
            left_out[label] = phrase("the method has no such version.")
            continue
        method: Any = METHODS[kind](mode=mode, relation=relation, random_state=seed, **ways[mode])
        try:
            method.check(data.schema)
        except ParameterError as error:
            left_out[label] = str(error)
            continue
        if {*how["measures"]} & {*measures_of(method)}:
            found[label] = method
        else:
            left_out[label] = phrase("none of the chosen measures applies to the method.")
    return Config(found, skip=True, **how), left_out


def draw_notes(config: Config, left_out: Mapping[str, str], data: Dataset) -> None:
    """Draw captions on a comparison: methods left out, the effect of a seed, sampled rows.

    `left_out` has the reason by the label of the method.
    """
    for label, reason in left_out.items():
        why = {"label": escape(retold(label)), "reason": escape(retold(reason))}
        caption(":material/block: **{label}** is left out: {reason}", **why)
    if lacking := undefined_measures(config.methods, config.measures):
        names = escape(", ".join(dict.fromkeys(map(method_of_label, lacking))))
        caption("Releases a classifier, so only accuracies are measured: {names}.", names=names)
    if any(method.random_state is not None for method in config.methods.values()):
        caption(":red[:material/warning: A seed voids every guarantee: use it for teaching only.]")
    if not data.in_memory:
        caption(
            "Runs learn from all rows of the folder; classifiers are compared on random samples: "
            "{learned:,} rows to learn from, {tested:,} to test on.",
            learned=len(data.train_sample),
            tested=len(data.test_sample),
        )


def missing_choice(config: Config) -> str:
    """Return the sentence that says why the comparison cannot run; empty if it can run."""
    if not config.methods or not config.epsilons or not config.measures:
        return say("Choose at least one method, one epsilon and one measure.")
    runs = len(config.methods) * len(config.epsilons) * config.repeats
    if len(method_names(config)) > MOST_METHODS or runs > MOST_RUNS:
        return say("Choose {most} methods and {runs:,} runs at most.", most=MOST_METHODS, runs=MOST_RUNS)
    return ""


def restore_controls(page: str, config: Config) -> None:
    """Set the page's controls to the comparison `config`, as far as they can express it."""
    one = next(iter(config.methods.values()))
    modes = [mode for mode in MODES if any(each.mode == mode for each in config.methods.values())]
    values: dict[str, Any] = {"epsilons": list(config.epsilons), "measures": list(config.measures), "modes": modes}
    values |= {"relation": str(one.relation), "repeats": config.repeats, "seed": one.random_state}
    for k, group in enumerate(GROUPS.values()):
        values[f"methods.{k}"] = [name for name in method_names(config) if name in group]
    for key, value in (values | {"model": config.models[0]}).items():
        st.session_state[f"{page}.{key}"] = value
