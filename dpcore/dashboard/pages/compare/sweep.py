"""What can be compared: three questions, or methods and modes, epsilons, repeats and measures; and what it charges."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import streamlit as st

from dpcore import experiment
from dpcore.accounting.relation import Relation
from dpcore.dashboard import controls
from dpcore.dashboard.epsilon import EPSILONS
from dpcore.dashboard.shell import escaped
from dpcore.dashboard.widgets import caption, fits, lasting
from dpcore.datasets import Dataset
from dpcore.errors import ParameterError
from dpcore.evaluate.evaluator import RANGE_ERROR, known_to, undefined_measures
from dpcore.evaluate.learners import MODELS
from dpcore.experiment import Config, Method
from dpcore.experiment.sweeps import plan_runs
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
MEASURES = ("accuracy", "balanced accuracy", "1-way AVD", "2-way AVD", "3-way AVD", RANGE_ERROR)
# What people read: the papers call a distance AVD, average variation distance.
DISTANCES = {
    "1-way AVD": phrase("1-way distance"),
    "2-way AVD": phrase("2-way distance"),
    "3-way AVD": phrase("3-way distance"),
}
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


def runs_of(config: Config) -> int:
    """How many releases a comparison is."""
    return len(config.methods) * len(config.epsilons) * config.repeats


def ask(page: str, data: Dataset, usual: Config | None) -> tuple[Config, dict[str, str]]:
    """All settings, of which some are usual; moving one draws nothing and spends nothing."""
    names: list[str] = []
    known = series_of(usual) if usual else []
    for number_of, (title, offered) in enumerate(GROUPS.items()):
        chosen = [name for name in known if name in offered]
        names += pills(f"{page}.methods.{number_of}", say(title), list(offered), chosen)
    left, right = st.columns(2, gap="large")
    first = next(iter(QUESTIONS.values()))
    with left:
        epsilons = pills(f"{page}.epsilons", say("Epsilons"), EPSILONS, first.epsilons, "{:g}".format)
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


def series_of(config: Config) -> list[str]:
    """The names of the methods of a comparison, whichever version runs."""
    return list(dict.fromkeys(label.partition(" | ")[0] for label in config.methods))


def in_words(metric: str) -> str:
    """What people read of a measure."""
    return DISTANCES.get(metric, metric)


def pills(key: str, label: str, options: Sequence[Any], usual: Sequence[Any], told: Any = str) -> list[Any]:
    """Some of some options, in their order."""
    how: Any = {"usual": list(usual), "selection_mode": "multi", "format_func": told, "wrap": True}
    chosen = lasting(st.pills, label, key, options, **how)
    return [option for option in options if option in chosen]


def versions(names: Sequence[str], modes: Sequence[str], relation: str, seed: int | None) -> dict[str, Any]:
    """Those methods in those modes, by their labels; None where there is no such version."""
    how: Any = {"relation": relation, "random_state": seed}
    found: dict[str, Any] = {}
    for name in names:
        kind, variants = CATALOG[name]
        for mode in modes:
            method = METHODS[kind](mode=mode, **how, **variants[mode]) if mode in variants else None
            found[LABELS[mode].format(method=name)] = method
    return found


def plan_of(
    names: Sequence[str], modes: Sequence[str], relation: str, seed: int | None, data: Dataset, **how: Any
) -> tuple[Config, dict[str, str]]:
    """The sweep of those methods in those modes; what is left out of it as it cannot be run or measured, and why."""
    found: dict[str, Method] = {}
    left_out: dict[str, str] = {}
    for label, method in versions(names, modes, relation, seed).items():
        try:
            if method is not None:
                method.check(data.schema)
        except ParameterError as error:
            left_out[label] = str(error)
            continue
        if method is None:
            left_out[label] = phrase("there is no such version of it.")
        elif {*how["measures"]} & {*known_to(method)}:
            found[label] = method
        else:
            left_out[label] = phrase("it has none of the chosen measures.")
    return Config(found, skip=True, **how), left_out


def notes(config: Config, left_out: Mapping[str, str], data: Dataset) -> None:
    """What is left out of a comparison, what its epsilons do not promise, and what of a folder's rows is a sample."""
    for label, reason in left_out.items():
        why = {"label": escaped(retold(label)), "reason": escaped(retold(reason))}
        caption(":material/block: **{label}** is left out: {reason}", **why)
    lacking: dict[str, list[str]] = {}
    for label, without in undefined_measures(config.methods, config.measures).items():
        lacking.setdefault(", ".join(say(in_words(metric)) for metric in without), []).append(label.partition(" | ")[0])
    for metrics, labels in lacking.items():
        them = {"metrics": escaped(metrics), "names": escaped(", ".join(dict.fromkeys(labels)))}
        caption("Releases a classifier and no rows, so there is no {metrics} of it: {names}.", **them)
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


def find_unfinished(config: Config, finished: Collection[int]) -> list[Method]:
    """The method of each run that is not there yet; `finished`: the positions of the others in the plan."""
    plan = plan_runs(config.methods, config.epsilons, config.repeats)
    return [run.method for position, run in enumerate(plan) if position not in finished]


def charge(rest: Sequence[Method], data: Dataset) -> str:
    """What runs will charge, in a few words; of which neighbors, where these are not the usual ones."""
    if not rest:
        return say(FINISHED)
    proved = [method.epsilon for method in rest if proves(method, data)]
    values: dict[str, Any] = {"count": len(rest), "bare": len(rest) - len(proved), "epsilon": number(fsum(proved))}
    if not proved:
        return say("{count:,} runs without a guarantee", **values)
    if (relation := Relation(rest[0].relation)) is not Relation.ADD_REMOVE:
        whom = say(relation.short_for(protects(data.schema.unit)))
        values["epsilon"] = say("{epsilon} ({whom})", epsilon=values["epsilon"], whom=whom)
    if values["bare"]:
        return say("{count:,} runs · charges at most epsilon {epsilon}, and {bare:,} runs have no guarantee", **values)
    return say("{count:,} runs · charges at most epsilon {epsilon}", **values)


def proves(method: Method, data: Dataset) -> bool:
    """Whether it is known before a run what can be proven of it: the epsilon that it has."""
    return method.mode == "corrected" and method.random_state is None and data.schema.source == "declared"


def lacks(config: Config) -> str:
    """Why this cannot be run, in a sentence; empty if it can."""
    if not config.methods or not config.epsilons or not config.measures:
        return say("Choose a method, an epsilon and a measure or more.")
    if len(series_of(config)) > MOST_METHODS:
        return say("A chart tells at most {most} methods apart: choose fewer.", most=MOST_METHODS)
    if runs_of(config) > MOST_RUNS:
        return say("That is more than {most:,} runs: choose fewer.", most=MOST_RUNS)
    return ""


def restore(page: str, config: Config) -> None:
    """Set the page's controls to a sweep that was written down; ParameterError if the page does not offer it."""
    first, parameters = next(iter(config.methods.values())), experiment.parameters_of
    names = [name for name in series_of(config) if name in CATALOG]
    modes = [mode for mode, words in MODES.items() if any(label.endswith(f" | {words}") for label in config.methods)]
    values: dict[str, Any] = {"epsilons": list(config.epsilons), "measures": list(config.measures), "modes": modes}
    values |= {"relation": str(first.relation), "repeats": config.repeats, "seed": first.random_state}
    known = fits(values["seed"], SEEDS) and values["relation"] in controls.RELATIONS
    offered = versions(names, modes, values["relation"], values["seed"]) if known else {}
    known = all(
        (one := offered.get(label)) is not None and parameters(one) == parameters(method)
        for label, method in config.methods.items()
    )
    known = known and {*config.epsilons} <= {*EPSILONS} and {*config.measures} <= {*MEASURES}
    if not (known and config.repeats <= MOST_REPEATS and len(config.models) == 1):
        raise ParameterError(
            "This comparison was not made on this page.", "Run it with dpcore.experiment.Config.from_json."
        )
    values |= {f"methods.{k}": [name for name in group if name in names] for k, group in enumerate(GROUPS.values())}
    for key, value in (values | {"model": config.models[0]}).items():
        st.session_state[f"{page}.{key}"] = value
