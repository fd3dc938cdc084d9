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
from dpcore.teaching import choices, composition, counts, histogram_pair, membership_game, report_privacy
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


def plain(make: Callable[[], pd.DataFrame]) -> Callable[..., pd.DataFrame]:
    """A frame in which nobody's words stand."""
    return lambda *_: make()


def at_noise(name="Laplace", epsilon=1.0):
    return counts.worlds(counts.CountNoise(name, epsilon, 0.05), 100, 101)


def drawn(names=NAMES):
    return counts.draws(counts.CountNoise("Laplace", 1.0), 100, 1)


def voted(names=NAMES, epsilon=0.1):
    return choices.election((30, 25, 8, 2), epsilon, "comes", 0).assign(candidate=names[:4])


def believed(names=NAMES):
    prior = np.linspace(0, 1, 11)
    return pd.DataFrame({"prior": prior, "low": choices.posterior(prior, -1.0), "high": choices.posterior(prior, 1.0)})


def parts(names=NAMES, yours=(False, True, False)):
    people, columns = (names[0], "You", names[1]), names[:2]
    rows = [(person, name, f"count {i} {name}", yours[i]) for i, person in enumerate(people) for name in columns]
    return frame("person column part yours", rows)


def holes(names=NAMES):
    return composition.possible_answers(10, 1.0, 8, 10.4, 10.6)


def telling(names=NAMES):
    return pd.DataFrame({"count": ["0", "10", "1,000"], "share": [0.8, 0.1, 0.0]})


def said(people=(200, 180, 90, 530)):
    rows = [(*pair, n) for pair, n in zip(product(("yes", "no"), repeat=2), people, strict=True)]
    return frame("said truth people", rows)


def estimates(*values, half=0.05):
    found = np.array(values or (0.31, 0.28, 0.35), dtype=float)
    return pd.DataFrame({"estimate": found, "low": found - half, "high": found + half})


def channel(names=NAMES):
    found = ERRPH(len(names), p0=0.5).matrix
    return frame(
        "truth reported probability", [(a, b, found[j, i]) for i, a in enumerate(names) for j, b in enumerate(names)]
    )


def described(measure="Breach", settings=(0.0, 0.25, 0.5, 0.75, 1.0)):
    found = report_privacy.descriptions(settings)
    return found[found["measure"] == measure]


def averaged(randomizer=None):
    found = report_privacy.averaging(randomizer or RRPH(p0=0.5), [1, 5, 20])
    return found.assign(epsilon=found["epsilon"].map(number))


def far(names=NAMES):
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
    game = Game()
    for rules, who, right, rounds in (
        (Rules(1.0), PLAYERS, 6, 8),
        (Rules(1.0), BEST, 73, 100),
        (Rules(1.0, "paper"), BEST, 93, 100),
    ):
        game.count(rules, who, right, rounds)
    found = membership_game.score_frame(game)
    return found.assign(honest=found["mode"] == "corrected")


def limit():
    return pd.DataFrame({"epsilon": membership_game.EPSILONS, "share": [odds(e) for e in membership_game.EPSILONS]})


def known(**epsilons):
    return plain(said), lambda _: charts.known_epsilon(**epsilons)


def shown(rules, **how):
    return plain(lambda: membership_game.chances(rules)), lambda f: charts.round_worlds(f, number="Number", **how)


def of_event(threshold, *, above=True, **how):
    found = binned(threshold=threshold, above=above)

    def build(data):
        return piles(replace(found, frame=data), threshold, above=above, **how)

    return plain(lambda: found.frame), build


LESSONS: dict[str, Picture] = {
    "two_worlds": (plain(at_noise), charts.two_worlds),
    "two_worlds, whole": (plain(lambda: at_noise("Geometric")), lambda f: charts.two_worlds(f, whole=True)),
    "two_worlds, normal": (plain(lambda: at_noise("Gaussian")), charts.two_worlds),
    "ratio_band": (plain(at_noise), lambda f: charts.ratio_band(f, epsilon=1.0)),
    "ratio_band, whole": (
        plain(lambda: at_noise("Geometric")),
        lambda f: charts.ratio_band(f, epsilon=1.0, whole=True),
    ),
    "ratio_band, normal": (plain(lambda: at_noise("Gaussian")), lambda f: charts.ratio_band(f, epsilon=1.0)),
    "answer_strip": (drawn, lambda f: charts.answer_strip(f, low=97, high=104)),
    "votes": (voted, charts.votes),
    "election": (voted, charts.election),
    "choice_ratios": (voted, lambda f: charts.choice_ratios(f, epsilon=0.1)),
    "belief": (believed, lambda f: charts.belief(f, prior=0.2)),
    "running_average": (
        plain(lambda: composition.repeated_answers(100, 1.0, 9, 0)),
        lambda f: charts.running_average(f, truth=100),
    ),
    "average_errors": (plain(lambda: composition.average_deviations(1.0, 9)), lambda f: charts.average_errors(f, at=4)),
    "loss_sums": (
        plain(lambda: composition.losses(0.5, 6)),
        lambda f: charts.loss_sums(f, worst=3.0, likely=2.9, label="epsilon 2.9 with delta 1e-6"),
    ),
    "split_table": (parts, lambda f: charts.split_table(f, title=TITLE)),
    "possible_numbers": (holes, lambda f: charts.possible_numbers(f, title="Holes")),
    "telltale": (telling, charts.telltale),
    "crowd": (plain(said), charts.crowd),
    "crowd, revealed": (plain(said), lambda f: charts.crowd(f, revealed=True)),
    "coin_estimates": (plain(estimates), lambda f: charts.coin_estimates(f, truth=0.3)),
    "channel_matrix": (channel, charts.channel_matrix),
    "descriptions, by setting": (
        plain(described),
        lambda f: charts.descriptions(f, against="setting", at=0.5, crossing=(0.7071, 0.586)),
    ),
    "descriptions, by epsilon": (plain(described), lambda f: charts.descriptions(f, against="epsilon", at=1.1)),
    "averaging": (plain(averaged), lambda f: charts.averaging(f, alone=0.5)),
    "tails": (far, lambda f: charts.tails(f, bound=1.0)),
    "trust": (plain(said), lambda _: charts.trust()),
    "world_piles": of_event(1.0, number=TITLE),
    "world_piles, logarithmic": of_event(1.0, logarithmic=True),
    "world_piles, no event": of_event(INF),
    "world_piles, below": of_event(-1.0, above=False),
    "world_ratios": (plain(lambda: binned().frame), lambda f: ratios(f, number=TITLE)),
    "world_ratios, neither": (plain(lambda: binned().frame), lambda f: ratios(f, claimed=INF)),
    "world_ratios, far": (plain(lambda: binned().frame), lambda f: ratios(f, proved=924.0)),
    "known_epsilon": known(lower=2.3, claimed=1.0, proved=924.2),
    "known_epsilon, none": known(lower=4.1, claimed=INF, proved=INF),
    "known_epsilon, tiny": known(lower=0.0, claimed=0.001, proved=0.001),
    "known_epsilon, false alarm": known(lower=1.2, claimed=1.0, proved=1.0),
    "round_worlds": shown(Rules(1.0), at=4.0),
    "round_worlds, nothing": shown(Rules(0.1, "paper")),
    "round_worlds, far": shown(Rules(5.0), at=400.0),
    "game_scores": (plain(played), lambda f: charts.game_scores(f, limit=limit())),
}
