"""Every chart, with a small frame for it: what tests of all charts go through, and what their record is made of.

A picture is a frame and what draws it. Frames take names where words of users stand in them. `RESULTS` are of releases;
`LESSONS` are of mechanisms, answers and games: nobody's data, to be read from afar.
"""

import math
from collections.abc import Callable
from inspect import signature
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from dpcore import charts
from dpcore.charts.mechanisms import CORRECTED, PUBLISHED
from dpcore.dashboard import count_noise, histogram_pair
from dpcore.dashboard.pages.attacks import averages, membership_game_numbers
from dpcore.dashboard.pages.attacks.membership_game_numbers import BEST, PLAYERS, Game, Rules
from dpcore.dashboard.pages.mechanisms import choices, report_privacy_numbers
from dpcore.dashboard.pages.mechanisms.composition_numbers import (
    average_deviations,
    loss_distribution,
    possible_answers,
    repeated_answers,
)
from dpcore.mechanisms.randomizers import ERRPH, RRPH, TRR
from dpcore.text import number, odds

INF, NAN = math.inf, math.nan
NAMES = ("a", "b", "c", "d")
HOSTILE = ["a.b[0]:Q", "image", "title", "{{y}}", "<img src=x>", "", " ", "x" * 60, 'it\'s "quoted" \\ \n', None, NAN]
TITLE = "a.b['0']:Q<img src=https://x.test/y>" + "z" * 60
GROUPS = {"groups": {"outside": "did not", "inside": "took part"}, "what": "score", "title": "Scores"}
LIMIT = pd.DataFrame(
    {"epsilon": membership_game_numbers.EPSILONS, "share": [*map(odds, membership_game_numbers.EPSILONS)]}
)
Picture = tuple[Callable[..., pd.DataFrame], Callable[[pd.DataFrame], Any]]


def frame(columns: str, rows: Any) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=columns.split())


# Releases beside the real rows


def shares(names=NAMES, **changes):
    real = np.linspace(1, 2, len(names)) / len(names) / 1.5
    found = pd.DataFrame({"value": names, "real": real, "released": real[::-1]})
    found = found.assign(reported=real, reconstructed=real)
    ends = {"floor_low": real * 0.9, "floor_high": real * 1.1, "low": real - 0.1, "high": real + 0.3}
    return found.assign(**ends).assign(**changes)


def intervals(names=NAMES):
    indices = np.arange(len(names)) * 2.0 + 1
    return pd.DataFrame({"x": indices, "width": 2.0, "real": 0.5, "reported": 0.4, "reconstructed": 0.5})


def pairs(names=NAMES):
    rows = [(a, b, 0.01 * (i + j), 0.01) for i, a in enumerate(names) for j, b in enumerate(names[:i])]
    return frame("a b avd floor", rows)


def tables(names=NAMES):
    rows = [(a, b, s, 1 / len(names) ** 2) for a in names for b in names for s in ("released", "real")]
    return frame("x_value y_value source share", rows)


def accuracies(names=NAMES):
    return frame("model trained_on accuracy run", product(names, ("released", "real"), (0.8,), range(3)))


def draws(names=NAMES):
    return frame("metric value run chosen", [(m, 0.1 * r, r, r == 3) for m in names for r in range(5)])


def entries(names=NAMES):
    epsilon = np.linspace(0, 1, len(names))
    return pd.DataFrame({"name": names, "epsilon_claimed": epsilon, "epsilon_nominal": 2 * epsilon, "void": False})


# Curves of many runs


def sweep(names=NAMES):
    rows = [(e, s, m, 0.5 + 0.1 * r) for e in (0.1, 1.0) for s in names[:10] for m in names[:2] for r in range(2)]
    return frame("epsilon series model value", rows)


def lines(names=NAMES):
    rows = [(m, label, value) for m in names[:2] for label, value in (("majority", 0.4), ("<i>top</i>", 0.9))]
    return frame("model label value", [*rows, ("not in the sweep", "x", 1.0)])


def swept(data):
    return charts.sweep(data, y_title="accuracy", references=lines(list(data["model"].unique())))


def runs(names=NAMES[:2], modes=("as published", "corrected"), repeats=2):
    each = product((0.05, 0.1, 1.0), enumerate(names), modes, ("AVD", "error"), range(repeats))
    rows = [(x, name, mode, panel, index + 0.1 * r) for x, (index, name), mode, panel, r in each]
    return frame("epsilon series mode panel value", rows)


def curved(data, **more):
    return charts.curves(data, x="epsilon", y="value", x_title="epsilon", y_title="distance", **more)


def panels_of_curves(data):
    of_paper = pd.DataFrame({"panel": data["panel"].unique(), "label": "<i>a.b[0]</i>", "value": 1.0, "claimed": True})
    how = {"log_x": True, "log_y": True, "interval": "t", "same_y": False}
    return curved(data, panel="panel", mode="mode", references=of_paper, **how)


def methods(names=("NB-Synth", "PPNB"), **changes):
    rows = product(names, ("corrected", "as published"), (0.1, 1.0), (0.2, 0.3, 0.7))
    found = frame("series mode epsilon_claimed value", rows)
    proved = found["epsilon_claimed"].where(found["mode"] == "corrected", INF)
    return found.assign(epsilon_bound=proved, relation="change one row").assign(**changes)


def compared(runs, **more):
    return charts.comparison_chart(runs, **{"title": "Accuracy", "y_title": "accuracy", "data": "people"} | more)


def stripped():
    found = methods()
    return found.assign(
        name=found["series"] + found["mode"].map({"corrected": " 1", "as published": " 2"}),
        hollow=found["mode"] == "as published",
    )


# Networks and trees


def families(names=NAMES):
    rows = [(n, names[max(0, i - 2) : i], i % 2, 2.0 + i, 0.1 * (i % 3), -0.1) for i, n in enumerate(names)]
    return frame("child parents cluster cells epsilon score", rows)


def graphed(data):
    edges = pd.DataFrame({"a": data["child"].to_numpy()[:-1], "b": data["child"].to_numpy()[1:]})
    return charts.graph(edges, data.drop(columns="score").rename(columns={"child": "node"}))


def affinities(data):
    names = [name for name in data["a"].unique() if isinstance(name, str)]
    return charts.affinity(data.rename(columns={"avd": "score"}), {name: i % 2 for i, name in enumerate(names)})


def groups(names=NAMES):
    return pd.DataFrame(
        {"node": names, "parent": [-1, *[0] * (len(names) - 1)], "leaves": [len(names) - 1, *[1] * (len(names) - 1)]}
    )


def nodes(names=("age", "sex"), **changes):
    """A root that asks the first name, and a child for every name after it; the last is divided further down."""
    rows = [(0, -1, 0, names[0], "", "", 100.4, 100.0, names[0], 0.6, 0.25, False, 4)]
    rows += [(i, 0, 1, "", n, f"age {n}", -2.0, 1.5, n, 0.9, 1.0, True, 0) for i, n in enumerate(names[1:], 1)]
    found = frame("place parent level text side edge noisy counts class share spent leaf folded", rows)
    found.loc[len(rows) - 1, ["text", "leaf", "folded"]] = "sex", False, 4
    return found.assign(**changes)


def spent(names=NAMES, **changes):
    parts = [(0, "counts of records"), (0, "choices of splits"), (1, "counts of records"), (1, "classes in leaves")]
    rows = [*parts, (-1, "other purposes")]
    epsilons = [0.1, 0.2, 0.1, 0.6, 0.0]
    found = frame("level purpose", rows).assign(epsilon_claimed=epsilons, epsilon_nominal=epsilons, account=names[0])
    return found.assign(per_tree=True, void=False).assign(**changes)


def scores(names=("DiffPRFs", "majority class")):
    found = pd.DataFrame({"model": names, "accuracy": 0.8, "balanced_accuracy": 0.6})
    return found.assign(private=[True, *[False] * (len(names) - 1)])


def cells(names=("no", "yes")):
    rows = [(a, b, 10.0 * (a == b) + 5, 0.75 if a == b else 0.25) for a in names for b in names]
    return frame("truth predicted count share", rows)


def steps(names=NAMES):
    found = pd.DataFrame({"step": ["released", "same trees, noiseless counts", "noiseless trees"]})
    return found.assign(accuracy=[0.80, 0.83, 0.85], note=names[0])


def importances(names=NAMES):
    return pd.DataFrame({"column": names, "share": np.arange(len(names)) / 10})


# Ranges


def errors(names=("tree", "flat")):
    rows = [
        (name, label, size, 10, 4.0 * (i + 1) * size**0.5, 0.2 * (i + 1))
        for i, name in enumerate(names)
        for label, size in (("below 1%", 0.001), ("≥25%", 0.4))
    ]
    found = frame("release bin size queries absolute relative", rows)
    for name in ("absolute", "relative"):
        found = found.assign(**{f"{name}_low": found[name] - 1, f"{name}_high": found[name] + 1})
    return found


def answers(names=("tree", "rows")):
    found = pd.DataFrame({"release": names, "estimate": np.arange(len(names)) + 10.0})
    found = found.assign(low=found["estimate"] - 2, high=found["estimate"] + 2, true=11.0)
    found.loc[len(found) - 1, ["low", "high"]] = NAN
    return found


def counted(names=("all rows", "left", "right")):
    rows = [(0, names[0], 0, len(names) - 1, names[0], names[0], 10.0, 3.0, 1.0, 0.5)]
    rows += [(1, names[-1], i - 1, i, n, n, NAN, NAN, i + 1.0, i + 0.5) for i, n in enumerate(names[1:], 1)]
    columns = "level divides left right label name noisy noisy_margin consistent consistent_margin"
    found = frame(columns, rows)
    return found.assign(true=found["consistent"] + 2, noise=found["noisy"] - found["consistent"] - 2)


def levels(names=("all rows", "age")):
    each = product(range(3), enumerate(names), (("noisy", 2.0), ("consistent", 1.0)))
    rows = [(level, name, which, error + level + run) for run, (level, name), (which, error) in each]
    return frame("level divides which error", rows)


def forecast(names=NAMES):
    steps = np.repeat([0.03, 1.0, 10.0], len(names))
    off = 0.3 / (1 + steps)
    return pd.DataFrame({"of": [*names] * 3, "epsilon": steps, "low": off / 2, "middle": off, "high": 2 * off})


# Mechanisms, answers and games


def at_noise(distribution="Laplace", epsilon=1.0):
    return count_noise.world_densities(count_noise.CountNoise(distribution, epsilon, 0.05), 100, 101)


def drawn():
    return count_noise.sample_worlds(count_noise.CountNoise("Laplace", 1.0), 100, 1)


def voted(names=NAMES, epsilon=0.1):
    return choices.election((30, 25, 8, 2), epsilon, "comes", 0).assign(candidate=names[:4])


def believed():
    prior = np.linspace(0, 1, 11)
    return pd.DataFrame({"prior": prior, "low": choices.posterior(prior, -1.0), "high": choices.posterior(prior, 1.0)})


def parts(names=NAMES, yours=(False, True, False)):
    people, columns = (names[0], "You", names[1]), names[:2]
    rows = [(person, name, f"count {i} {name}", yours[i]) for i, person in enumerate(people) for name in columns]
    return frame("person column part yours", rows)


def said(people=(200, 180, 90, 530)):
    rows = [(*pair, n) for pair, n in zip(product(("yes", "no"), repeat=2), people, strict=True)]
    return frame("said truth people", rows)


def estimates(*values, half=0.05):
    found = np.array(values or (0.31, 0.28, 0.35), dtype=float)
    return pd.DataFrame({"estimate": found, "low": found - half, "high": found + half})


def channel(names=NAMES):
    found = ERRPH(len(names), p0=0.5).matrix
    rows = [(a, b, found[j, i]) for i, a in enumerate(names) for j, b in enumerate(names)]
    return frame("truth reported probability", rows)


def described():
    found = report_privacy_numbers.measure_curves((0.0, 0.25, 0.5, 0.75, 1.0))
    return found[found["measure"] == "Breach"]


def averaged():
    found = report_privacy_numbers.repeated_reports(RRPH(p0=0.5), [1, 5, 20])
    return found.assign(epsilon=found["epsilon"].map(number))


def far():
    linear = report_privacy_numbers.linear_randomizer((1, 1), (0, 1))
    both = ((PUBLISHED, linear), (CORRECTED, TRR(lower=0, upper=10, epsilon=1.0)))
    found = [report_privacy_numbers.tail_ratios(one, 0, 10, [0, 5, 10]).assign(series=name) for name, one in both]
    return pd.concat(found, ignore_index=True)


def binned(first=None, second=None, threshold=1.0):
    first = np.random.default_rng(1).laplace(0, 1, 400) if first is None else np.asarray(first, dtype=float)
    second = np.random.default_rng(2).laplace(1, 1, 400) if second is None else np.asarray(second, dtype=float)
    return histogram_pair.histogram_pair(first, second, threshold, above=True)


def piles(found, threshold=1.0, number="A number", **how):
    known = {
        "runs": 400,
        "edge": found.edge,
        "above": True,
        "hits": (30, 150),
        "counted": 200,
        "claimed": 1.0,
        "lower": 1.2,
    } | how
    return charts.world_piles(found.bins, number=number, threshold=threshold, **known)


def ratios(data, claimed=1.0, proved=INF, number="A number"):
    return charts.world_ratios(data, number=number, claimed=claimed, proved=proved)


def played():
    game, paper = Game(), Rules(1.0, "published")
    for counted in ((Rules(1.0), PLAYERS, 6, 8), (Rules(1.0), BEST, 73, 100), (paper, BEST, 93, 100)):
        game.add_score(*counted)
    found = membership_game_numbers.score_frame(game)
    return found.assign(honest=found["mode"] == "corrected")


def of_event(threshold, **how):
    found = binned(threshold=threshold)
    return lambda: found.bins, lambda data: piles(found._replace(bins=data), threshold, **how)


def attacked():
    return pd.DataFrame({"epsilon": [0.01, 1.0, 100.0, 10_000.0], "share": [0.39, 0.52, 0.91, 1.0]})


def found_out(**band):
    return pd.DataFrame({"number": [1, 2, 3], "share": [0.0, 0.2, math.nan], **band})


def scored():
    return averages.score_histogram(np.array([3.0, 4.0, 99.0]), np.array([0.0, 1.0, -1.0]), np.arange(-4.0, 11.0))


def estimated(names=NAMES):
    value = np.arange(len(names)) + 10.0
    found = pd.DataFrame({"group": names, "of": "count", "unit": "age", "real_value": value + 0.2})
    ends = {"noise_low": value - 0.5, "noise_high": value + 0.5, "low": value - 1, "high": value + 1}
    return found.assign(**ends, estimate=[*value[:-1], NAN])


def redrawn(data):
    dots = pd.DataFrame({"line": [0, 0, 1], "value": [9.8, 10.3, INF]})
    return charts.answers(data, title=TITLE, dots=dots, zero=True)


RESULTS: dict[str, Picture] = {
    "answers": (
        lambda names=NAMES: estimated(names).drop(columns="real_value"),
        lambda f: charts.answers(f, title=TITLE),
    ),
    "answers, real and redrawn": (estimated, redrawn),
    "forecast_bands": (forecast, lambda f: charts.forecast_bands(f, epsilon=1.0, low=0.03, high=10.0)),
    "marginal": (shares, lambda f: charts.marginal(f, column=TITLE)),
    "marginal, with the run before": (
        shares,
        lambda f: charts.marginal(f, column="age", previous=f.assign(released=0.1), before="today"),
    ),
    "worst_pairs": (pairs, charts.worst_pairs),
    "worst_columns": (lambda names=NAMES: pairs(names).rename(columns={"a": "attributes"}), charts.worst_columns),
    "reported_shares": (shares, lambda f: charts.reported_shares(f, column=TITLE)),
    "reported_numbers": (intervals, lambda f: charts.reported_numbers(f, column=TITLE)),
    "steps": (lambda: pd.DataFrame({"step": range(4), "gain": 0.1}), lambda f: charts.steps(f, column=TITLE)),
    "pair_heatmap": (pairs, charts.pair_heatmap),
    "pair_tables": (tables, lambda f: charts.pair_tables(f, x=TITLE, y="image")),
    "affinity": (pairs, affinities),
    "confusion": (cells, charts.confusion),
    "accuracy": (accuracies, lambda f: charts.accuracy(f, majority=0.75)),
    "redraws": (draws, charts.redraws),
    "classifier_scores": (scores, charts.classifier_scores),
    "costs": (steps, charts.costs),
    "importance": (importances, charts.importance),
    "epsilon_split": (entries, charts.epsilon_split),
    "staircase": (
        lambda names=NAMES: frame("run when epsilon_bound", [(name, "today", 0.5) for name in names]),
        lambda f: charts.staircase(f, cap=2.5),
    ),
    "claimed_vs_bound": (entries, lambda _: charts.claimed_vs_bound(claimed=1, bound=INF)),
    "odds_icons": (entries, lambda _: charts.odds_icons(0.73)),
    "frameworks": (entries, lambda _: charts.frameworks()),
    "forest_budget": (spent, charts.forest_budget),
    "sweep": (sweep, swept),
    "sweep, variance": (sweep, lambda f: charts.sweep(f, variance=True)),
    "curves": (runs, panels_of_curves),
    "comparison_chart": (methods, lambda f: compared(f, data=TITLE)),
    "run_strips": (stripped, lambda f: charts.run_strips(f, title=TITLE, x_title="accuracy", quantity="accuracy")),
    "network": (families, charts.network),
    "graph": (families, graphed),
    "taxonomy": (groups, charts.taxonomy),
    "forest_tree": (nodes, charts.forest_tree),
    "error_by_range": (errors, charts.error_by_range),
    "range_answers": (answers, charts.range_answers),
    "count_tree": (counted, charts.count_tree),
    "level_errors": (levels, charts.level_errors),
}
LESSONS: dict[str, Picture] = {
    "two_worlds": (at_noise, charts.two_worlds),
    "two_worlds, whole": (lambda: at_noise("Geometric"), lambda data: charts.two_worlds(data, whole=True)),
    "ratio_band, normal": (lambda: at_noise("Gaussian"), lambda data: charts.ratio_band(data, epsilon=1.0)),
    "answer_strip": (drawn, lambda data: charts.answer_strip(data, low=97, high=104)),
    "votes": (voted, charts.votes),
    "election": (voted, charts.election),
    "choice_ratios": (voted, lambda data: charts.choice_ratios(data, epsilon=0.1)),
    "belief": (believed, lambda data: charts.belief(data, prior=0.2)),
    "running_average": (lambda: repeated_answers(100, 1.0, 9, 0), lambda f: charts.running_average(f, truth=100)),
    "average_errors": (lambda: average_deviations(1.0, 9), lambda f: charts.average_errors(f, at=4)),
    "loss_sums": (
        lambda: loss_distribution(0.5, 6),
        lambda f: charts.loss_sums(f, worst=3.0, likely=2.9, label="epsilon 2.9 with delta 1e-6"),
    ),
    "split_table": (parts, lambda data: charts.split_table(data, title=TITLE)),
    "possible_numbers": (
        lambda: possible_answers(10, 1.0, 8, 10.4, 10.6),
        lambda data: charts.possible_numbers(data, title="Holes"),
    ),
    "telltale": (lambda: frame("count share", [("0", 0.8), ("10", 0.1), ("1,000", 0.0)]), charts.telltale),
    "crowd": (said, charts.crowd),
    "crowd, revealed": (said, lambda data: charts.crowd(data, revealed=True)),
    "coin_estimates": (estimates, lambda data: charts.coin_estimates(data, truth=0.3)),
    "channel_matrix": (channel, charts.channel_matrix),
    "descriptions, by setting": (
        described,
        lambda f: charts.descriptions(f, against="setting", at=0.5, crossing=(0.7071, 0.586)),
    ),
    "descriptions, by epsilon": (described, lambda data: charts.descriptions(data, against="epsilon", at=1.1)),
    "averaging": (averaged, lambda data: charts.averaging(data, alone=0.5)),
    "tails": (far, lambda data: charts.tails(data, bound=1.0)),
    "trust": (said, lambda _: charts.trust()),
    "world_piles": of_event(1.0, number=TITLE),
    "world_piles, logarithmic": of_event(1.0, logarithmic=True),
    "world_piles, no event": of_event(INF),
    "world_ratios": (lambda: binned().bins, lambda data: ratios(data, number=TITLE)),
    "world_ratios, neither": (lambda: binned().bins, lambda data: ratios(data, claimed=INF)),
    "known_epsilon": (said, lambda _: charts.known_epsilon(lower=2.3, claimed=1.0, proved=924.2)),
    "known_epsilon, none": (said, lambda _: charts.known_epsilon(lower=4.1, claimed=INF, proved=INF)),
    "round_worlds": (
        lambda: membership_game_numbers.outcome_probabilities(Rules(1.0)),
        lambda data: charts.round_worlds(data, number="Number", at=4.0),
    ),
    "round_worlds, nothing": (
        lambda: membership_game_numbers.outcome_probabilities(Rules(0.1, "published")),
        lambda data: charts.round_worlds(data, number="Number"),
    ),
    "game_scores": (played, lambda data: charts.game_scores(data, limit=LIMIT)),
    "share_right": (attacked, lambda data: charts.share_right(data, epsilon=1.0, noiseless=0.98, title="Right")),
    "share_found": (
        lambda: found_out(low=0.0, high=[0.1, 0.4, 0.9]),
        lambda data: charts.share_found(data, at=2, what="columns", most=9, title="Alone", found="alone"),
    ),
    "share_found, beside a coin": (
        found_out,
        lambda data: charts.share_found(data, at=2, what="questions", most=9, title="T", found="right", lowest=0.4),
    ),
    "group_strips": (scored, lambda f: charts.group_strips(f, **GROUPS)),
}
PICTURES = RESULTS | LESSONS


def frame_of(name, *names):
    """What a picture is drawn of: with these names, if somebody's words stand in it."""
    make, _ = PICTURES[name]
    return make(*names) if "names" in signature(make).parameters else make()
