"""Charts of mechanisms, answers and games, each with a frame for it: nobody's data, to be read from afar."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from dpcore import charts
from dpcore.charts.responses import CORRECTED, PRINTED
from dpcore.mechanisms.randomizers import ERRPH, RRPH, TRR
from dpcore.teaching import averages, choices, composition, counts, histogram_pair, membership_game, report_privacy
from dpcore.teaching.membership_game import BEST, PLAYERS, Game, Rules
from dpcore.text import number, odds

INF = math.inf
NAMES = ("a", "b", "c", "d")
HOSTILE = (
    "a.b[0]:Q",
    "<img src=x>",
    "image",
    "title",
    "",
    " ",
    "x" * 60,
    'it\'s "quoted" \\ \n',
    "{{y}}",
    None,
    math.nan,
)
TITLE = "a.b['0']:Q<img src=https://x.test/y>" + "z" * 60
Picture = tuple[Callable[..., pd.DataFrame], Callable[[pd.DataFrame], Any]]


def frame(columns: str, rows: Any) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=columns.split())


def at_noise(law="Laplace", epsilon=1.0):
    return counts.worlds(counts.CountNoise(law, epsilon, 0.05), 100, 101)


def drawn():
    return counts.draws(counts.CountNoise("Laplace", 1.0), 100, 1)


def voted(names=NAMES, epsilon=0.1):
    return choices.election((30, 25, 8, 2), epsilon, "comes", 0).assign(candidate=names[:4])


def believed():
    prior = np.linspace(0, 1, 11)
    return pd.DataFrame({"prior": prior, "low": choices.posterior(prior, -1.0), "high": choices.posterior(prior, 1.0)})


def parts(names=NAMES, yours=(False, True, False)):
    people, columns = (names[0], "You", names[1]), names[:2]
    rows = [(person, name, f"count {i} {name}", yours[i]) for i, person in enumerate(people) for name in columns]
    return frame("person column part yours", rows)


def holes():
    return composition.possible_answers(10, 1.0, 8, 10.4, 10.6)


def telling():
    return pd.DataFrame({"count": ["0", "10", "1,000"], "share": [0.8, 0.1, 0.0]})


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


def described(measure="Breach", settings=(0.0, 0.25, 0.5, 0.75, 1.0)):
    found = report_privacy.descriptions(settings)
    return found[found["measure"] == measure]


def averaged(randomizer=None):
    found = report_privacy.averaging(randomizer or RRPH(p0=0.5), [1, 5, 20])
    return found.assign(epsilon=found["epsilon"].map(number))


def far():
    both = ((PRINTED, report_privacy.linear((1, 1), (0, 1))), (CORRECTED, TRR(lower=0, upper=10, epsilon=1.0)))
    found = [report_privacy.tail_ratios(one, 0, 10, [0, 5, 10]).assign(series=name) for name, one in both]
    return pd.concat(found, ignore_index=True)


def binned(first=None, second=None, threshold=1.0, *, above=True):
    first = np.random.default_rng(1).laplace(0, 1, 400) if first is None else np.asarray(first, dtype=float)
    second = np.random.default_rng(2).laplace(1, 1, 400) if second is None else np.asarray(second, dtype=float)
    return histogram_pair.piled(first, second, threshold, above=above)


def piles(found, threshold=1.0, number="A number", **how):
    known = {"runs": 400, "edge": found.edge, "above": True, "hits": (30, 150), "counted": 200} | how
    return charts.world_piles(found.frame, number=number, threshold=threshold, **known)


def ratios(data, claimed=1.0, proved=INF, number="A number"):
    return charts.world_ratios(data, number=number, claimed=claimed, proved=proved)


def played():
    game, paper = Game(), Rules(1.0, "paper")
    for counted in ((Rules(1.0), PLAYERS, 6, 8), (Rules(1.0), BEST, 73, 100), (paper, BEST, 93, 100)):
        game.count(*counted)
    found = membership_game.score_frame(game)
    return found.assign(honest=found["mode"] == "corrected")


def limit():
    return pd.DataFrame({"epsilon": membership_game.EPSILONS, "share": [odds(e) for e in membership_game.EPSILONS]})


def of_event(threshold, **how):
    found = binned(threshold=threshold)
    return lambda: found.frame, lambda data: piles(replace(found, frame=data), threshold, **how)


def rounds(rules, **how):
    return lambda: membership_game.chances(rules), lambda data: charts.round_worlds(data, number="Number", **how)


def ratioed(**how):
    return lambda: binned().frame, lambda data: ratios(data, **how)


def attacked():
    return pd.DataFrame({"epsilon": [0.01, 1.0, 100.0, 10_000.0], "share": [0.39, 0.52, 0.91, 1.0]})


def found_out(**band):
    return pd.DataFrame({"number": [1, 2, 3], "share": [0.0, 0.2, math.nan], **band})


def scored():
    return averages.histogram(np.array([3.0, 4.0, 99.0]), np.array([0.0, 1.0, -1.0]), np.arange(-4.0, 11.0))


def known(**epsilons):
    return said, lambda _: charts.known_epsilon(**epsilons)


LESSONS: dict[str, Picture] = {
    "two_worlds": (at_noise, charts.two_worlds),
    "two_worlds, whole": (lambda: at_noise("Geometric"), lambda data: charts.two_worlds(data, whole=True)),
    "ratio_band, normal": (lambda: at_noise("Gaussian"), lambda data: charts.ratio_band(data, epsilon=1.0)),
    "answer_strip": (drawn, lambda data: charts.answer_strip(data, low=97, high=104)),
    "votes": (voted, charts.votes),
    "election": (voted, charts.election),
    "choice_ratios": (voted, lambda data: charts.choice_ratios(data, epsilon=0.1)),
    "belief": (believed, lambda data: charts.belief(data, prior=0.2)),
    "running_average": (
        lambda: composition.repeated_answers(100, 1.0, 9, 0),
        lambda data: charts.running_average(data, truth=100),
    ),
    "average_errors": (
        lambda: composition.average_deviations(1.0, 9),
        lambda data: charts.average_errors(data, at=4),
    ),
    "loss_sums": (
        lambda: composition.losses(0.5, 6),
        lambda data: charts.loss_sums(data, worst=3.0, likely=2.9, label="epsilon 2.9 with delta 1e-6"),
    ),
    "split_table": (parts, lambda data: charts.split_table(data, title=TITLE)),
    "possible_numbers": (holes, lambda data: charts.possible_numbers(data, title="Holes")),
    "telltale": (telling, charts.telltale),
    "crowd": (said, charts.crowd),
    "crowd, revealed": (said, lambda data: charts.crowd(data, revealed=True)),
    "coin_estimates": (estimates, lambda data: charts.coin_estimates(data, truth=0.3)),
    "channel_matrix": (channel, charts.channel_matrix),
    "descriptions, by setting": (
        described,
        lambda data: charts.descriptions(data, against="setting", at=0.5, crossing=(0.7071, 0.586)),
    ),
    "descriptions, by epsilon": (described, lambda data: charts.descriptions(data, against="epsilon", at=1.1)),
    "averaging": (averaged, lambda data: charts.averaging(data, alone=0.5)),
    "tails": (far, lambda data: charts.tails(data, bound=1.0)),
    "trust": (said, lambda _: charts.trust()),
    "world_piles": of_event(1.0, number=TITLE),
    "world_piles, logarithmic": of_event(1.0, logarithmic=True),
    "world_piles, no event": of_event(INF),
    "world_ratios": ratioed(number=TITLE),
    "world_ratios, neither": ratioed(claimed=INF),
    "known_epsilon": known(lower=2.3, claimed=1.0, proved=924.2),
    "known_epsilon, none": known(lower=4.1, claimed=INF, proved=INF),
    "round_worlds": rounds(Rules(1.0), at=4.0),
    "round_worlds, nothing": rounds(Rules(0.1, "paper")),
    "game_scores": (played, lambda data: charts.game_scores(data, limit=limit())),
    "share_right": (attacked, lambda data: charts.share_right(data, epsilon=1.0, noiseless=0.98, title="Right")),
    "share_found": (
        lambda: found_out(low=0.0, high=[0.1, 0.4, 0.9]),
        lambda data: charts.share_found(data, at=2, what="columns", most=9, title="Alone", found="alone"),
    ),
    "share_found, beside a coin": (
        found_out,
        lambda data: charts.share_found(data, at=2, what="questions", most=9, title="T", found="right", lowest=0.4),
    ),
    "groups_apart": (
        scored,
        lambda data: charts.groups_apart(
            data, groups={"outside": "did not", "inside": "took part"}, what="score", title="Scores"
        ),
    ),
}
