"""What can be compared: three questions, or methods and modes, epsilons, repeats and measures; and what it charges."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum
from typing import Any

import streamlit as st

from dpcore.accounting.relation import Relation
from dpcore.dashboard import controls
from dpcore.dashboard.epsilon import EPSILONS
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, fits, lasting
from dpcore.datasets import Dataset
from dpcore.errors import ParameterError
from dpcore.evaluate.evaluator import RANGE_ERROR, known_to, undefined_measures
from dpcore.evaluate.learners import MODELS
from dpcore.experiment import Config, Method, parameters_of
from dpcore.export.protection import protects
from dpcore.language import phrase, retold, say
from dpcore.methods import METHODS
from dpcore.text import number

MODES = {"corrected": phrase("corrected"), "published": phrase("as printed")}
LABELS = {"corrected": phrase("{method} | corrected"), "published": phrase("{method} | as printed")}
Offered = Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]]]]
"""By the name on the screen: the method, and by mode the parameters that differ from its own."""


def compared(*pages: str) -> Offered:
    """What can be compared of the methods of some pages; references come last."""
    kinds = [(name, kind) for name, kind in METHODS.items() if kind.page in pages]
    return {
        shown: (name, ways)
        for name, kind in sorted(kinds, key=lambda item: "corrected" not in item[1].modes)
        for shown, ways in (kind.compared or {name: {mode: {} for mode in kind.modes}}).items()
    }


GROUPS: Mapping[str, Offered] = {
    phrase("Synthesizers"): compared("naive_bayes", "networks", "taxonomy"),
    phrase("Classifiers"): compared("forests"),
    phrase("Local"): compared("responses"),
}
LOCAL = tuple(GROUPS["Local"])
CATALOG: Offered = {name: way for offered in GROUPS.values() for name, way in offered.items()}
# What the papers call AVD, average variation distance, is a distance here.
DISTANCES = (phrase("1-way distance"), phrase("2-way distance"), phrase("3-way distance"))
MEASURES = ("accuracy", "balanced accuracy", "1-way AVD", "2-way AVD", "3-way AVD", RANGE_ERROR)
REPEATS, MOST_REPEATS, MOST_METHODS, MOST_RUNS = 4, 20, 10, 2_000
FINISHED = phrase("finished already: no charge")
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
        names += pills(f"{page}.methods.{k}", say(title), list(offered), [name for name in known if name in offered])
    left, right = st.columns(2, gap="large")
    with left:
        epsilons = pills(f"{page}.epsilons", say("Epsilons"), EPSILONS, (0.5,), "{:g}".format)
        modes = pills(f"{page}.modes", say("Versions"), list(MODES), ["corrected"], lambda mode: say(MODES[mode]))
        relation = controls.relation_picker(page, persons=data.schema.persons is not None)
    with right:
        measures = pills(f"{page}.measures", say("Measures"), MEASURES, ["2-way AVD"], lambda one: say(in_words(one)))
        note = say("The accuracy of synthetic rows is that of a classifier that learned from them, told by real rows.")
        look: Any = {"format_func": say, "help": note}
        model = lasting(st.selectbox, say("Classifier"), f"{page}.model", MODELS, **look)
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


def versions(names: Sequence[str], modes: Sequence[str], relation: str, seed: int | None) -> dict[str, Any]:
    """Those methods in those modes, by their labels; None where there is no such version."""
    found: dict[str, Any] = {}
    for name, mode in product(names, modes):
        kind, variants = CATALOG[name]
        how: Any = {"mode": mode, "relation": relation, "random_state": seed, **variants.get(mode, {})}
        found[LABELS[mode].format(method=name)] = METHODS[kind](**how) if mode in variants else None
    return found


def plan_of(
    names: Sequence[str], modes: Sequence[str], relation: str, seed: int | None, data: Dataset, **how: Any
) -> tuple[Config, dict[str, str]]:
    """The sweep of those methods in those modes; what is left out of it as it cannot be run or measured, and why."""
    found: dict[str, Method] = {}
    left_out: dict[str, str] = {}
    for label, method in versions(names, modes, relation, seed).items():
        try:
            if method is None:
                left_out[label] = phrase("there is no such version of it.")
            elif {*how["measures"]}.isdisjoint(known_to(method)):
                left_out[label] = phrase("it has none of the chosen measures.")
            else:
                method.check(data.schema)
                found[label] = method
        except ParameterError as error:
            left_out[label] = str(error)
    return Config(found, skip=True, **how), left_out


def notes(config: Config, left_out: Mapping[str, str], data: Dataset) -> None:
    """What is left out of a comparison, what its epsilons do not promise, and what of a folder's rows is a sample."""
    for label, reason in left_out.items():
        why = {"label": escaped(retold(label)), "reason": escaped(retold(reason))}
        caption(":material/block: **{label}** is left out: {reason}", **why)
    if classifiers := dict.fromkeys(map(series, undefined_measures(config.methods, config.measures))):
        names = escaped(", ".join(classifiers))
        caption("Releases a classifier and no rows, so only its accuracies are measured: {names}.", names=names)
    if any(method.random_state is not None for method in config.methods.values()):
        caption(":red[:material/warning: With a seed nothing is proved: for teaching only.]")
    if not data.held:
        caption(
            "Every run learns from all rows of the folder; classifiers are compared on uniform samples: {learned:,} "
            "rows to learn from, {tested:,} to test on.",
            learned=len(data.train_sample),
            tested=len(data.test_sample),
        )
    note_local(series_of(config))


def note_local(names: Collection[str]) -> None:
    """Say that local and other methods promise different things, where both are compared."""
    if {*names} & {*LOCAL} and {*names} - {*LOCAL}:
        caption(
            "Two guarantees: local methods protect each person's answers before they are collected, the others need "
            "one keeper whom all people trust. Their epsilons are drawn on one axis, and are not the same promise."
        )


def charge(rest: Sequence[Method], data: Dataset) -> str:
    """What runs will charge, in a few words; of which neighbors, where these are not the usual ones."""
    if not rest:
        return say(FINISHED)
    proved = [method.epsilon for method in rest if proves(method, data)]
    parts, epsilon = [say("{count:,} runs", count=len(rest))], number(fsum(proved))
    if (relation := Relation(rest[0].relation)) is not Relation.ADD_REMOVE:
        epsilon = f"{epsilon} ({say(relation.short_for(protects(data.schema.unit)))})"
    if proved:
        parts.append(say("charges at most epsilon {epsilon}", epsilon=epsilon))
    if bare := len(rest) - len(proved):
        parts.append(say("{bare:,} runs have no guarantee", bare=bare))
    return " · ".join(parts)


def proves(method: Method, data: Dataset) -> bool:
    """Whether it is known before a run what can be proven of it: the epsilon that it has."""
    return method.mode == "corrected" and method.random_state is None and data.schema.source == "declared"


def lacks(config: Config) -> str:
    """Why this cannot be run, in a sentence; empty if it can."""
    if not config.methods or not config.epsilons or not config.measures:
        return say("Choose a method, an epsilon and a measure or more.")
    if len(series_of(config)) > MOST_METHODS:
        return say("A chart tells at most {most} methods apart: choose fewer.", most=MOST_METHODS)
    if len(config.methods) * len(config.epsilons) * config.repeats > MOST_RUNS:
        return say("That is more than {most:,} runs: choose fewer.", most=MOST_RUNS)
    return ""


def restore(page: str, config: Config) -> None:
    """Set the page's controls to a sweep that was written down; ParameterError if the page does not offer it."""
    first = next(iter(config.methods.values()))
    names = [name for name in series_of(config) if name in CATALOG]
    modes = [mode for mode, words in MODES.items() if any(label.endswith(f" | {words}") for label in config.methods)]
    values: dict[str, Any] = {"epsilons": list(config.epsilons), "measures": list(config.measures), "modes": modes}
    values |= {"relation": str(first.relation), "repeats": config.repeats, "seed": first.random_state}
    offered = {
        label: method and parameters_of(method)
        for label, method in versions(names, modes, values["relation"], values["seed"]).items()
    }
    known = (
        all(offered.get(label) == parameters_of(method) for label, method in config.methods.items())
        and fits(values["seed"], SEEDS)
        and values["relation"] in controls.RELATIONS
        and {*config.epsilons} <= {*EPSILONS}
        and {*config.measures} <= {*MEASURES}
        and config.repeats <= MOST_REPEATS
        and len(config.models) == 1
    )
    if not known:
        raise ParameterError(
            "This comparison was not made on this page.", "Run it with dpcore.experiment.Config.from_json."
        )
    values |= {f"methods.{k}": [name for name in group if name in names] for k, group in enumerate(GROUPS.values())}
    for key, value in (values | {"model": config.models[0]}).items():
        st.session_state[f"{page}.{key}"] = value
