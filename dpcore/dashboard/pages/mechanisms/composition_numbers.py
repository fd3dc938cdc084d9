"""What many answers cost together, what they give together, and which ones textbook noise cannot give.

Mironov 2012 ("On significance of the least significant bits for differential privacy", CCS): noise is computed from a
uniform number that has finitely many values, so that a count plus noise has finitely many values too, with holes in
between. Another count has its holes elsewhere. An answer in a hole of the other world tells for sure which world it
came from, whatever epsilon is. The proof for real numbers does not see it.
"""

from fractions import Fraction
from math import exp

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom

from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Floats
from dpcore.dashboard.count_noise import CountNoise
from dpcore.errors import ParameterError
from dpcore.language import phrase

PEOPLE = ("A", "B", "You", "C", "D", "E", "F", "G")
COLUMNS = ("age", "town", "job", "ill")
COUNT = phrase("count {number:,}")  # of a part


def repeated_answers(count: float, epsilon: float, answers: int, seed: int) -> pd.DataFrame:
    """One count asked again and again with Laplace noise, `epsilon` for each answer, and the average so far.

    `deviation` is the average's standard deviation, sqrt(2 / answers) / epsilon. A seed fixes the lots of every answer:
    more answers leave the earlier ones as they are.
    """
    noise = CountNoise("Laplace", epsilon)
    lots = np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, answers)
    number = np.arange(1, answers + 1)
    given = count + noise.quantile(lots)
    return pd.DataFrame(
        {
            "answers": number,
            "answer": given,
            "average": np.cumsum(given) / number,
            "deviation": noise.deviation / np.sqrt(number),
            "epsilon_total": number * epsilon,
        }
    )


def average_deviations(epsilon: float, most: int) -> pd.DataFrame:
    """The standard deviation of the average of 1 to `most` answers with Laplace noise.

    `each`, with epsilon for each answer: the variance is 2 / (k epsilon^2), for k epsilon in all; `shared`, with
    epsilon / k for each: 2 k / epsilon^2, for epsilon in all; `once`, one answer with all of epsilon: 2 / epsilon^2.
    """
    number, once = np.arange(1, most + 1), CountNoise("Laplace", epsilon).deviation
    averages = {"each": once / np.sqrt(number), "shared": once * np.sqrt(number)}
    return pd.DataFrame({"answers": number, **averages, "once": once})


def losses(epsilon: float, answers: int) -> pd.DataFrame:
    """How the log ratios of several answers about one count add up, with you in it and geometric noise.

    With geometric noise on a count, every answer's log ratio is +epsilon or -epsilon, and +epsilon with probability
    e^epsilon / (1 + e^epsilon) in the world with you. The sum of k of them is therefore epsilon (2 B - k) with B
    binomial: exact, and k epsilon at most. One row per possible sum.
    """
    up = np.arange(answers + 1)
    chance = 1 / (1 + exp(-epsilon))
    return pd.DataFrame({"loss": epsilon * (2 * up - answers), "probability": binom.pmf(up, answers, chance)})


def loss_epsilon(epsilon: float, answers: int, delta: float) -> float:
    """The smallest epsilon for which so many geometric answers about one count are (epsilon, delta)-private together.

    The delta of an epsilon e is the sum of probability * (1 - e^(e - loss)) over the losses above e. It falls as e
    grows, and between two neighboring losses it is one exponential function, so that it is inverted exactly. The other
    direction, without you over with you, has the same losses with the same probabilities.
    """
    if delta <= 0:
        return answers * epsilon
    frame = losses(epsilon, answers)
    loss, chance = frame["loss"].to_numpy()[::-1], frame["probability"].to_numpy()[::-1]
    above, discounted = np.cumsum(chance), np.cumsum(chance * np.exp(-loss))
    for place in range(len(loss)):
        if above[place] <= delta:
            continue
        found = float(np.log((above[place] - delta) / discounted[place]))
        if place + 1 == len(loss) or found >= loss[place + 1]:
            return max(min(found, answers * epsilon), 0.0)
    return 0.0


def split_people_epsilon(epsilon: Epsilon, groups: int, relation: Relation) -> Epsilon:
    """What counts of disjoint groups of people cost together, each asked with `epsilon`.

    One person more is in one group only, whose count alone moves. A person whose values change may leave one group and
    enter another: two counts move, if there are two.
    """
    return exact(epsilon) * min(relation.histogram_l1, _some(groups))


def split_columns_epsilon(epsilon: Epsilon, columns: int) -> Epsilon:
    """What a count of each of several columns costs together: everybody has a cell in all of them, and all may move."""
    return exact(epsilon) * Fraction(_some(columns))


def split_tables(parts: int, relation: Relation) -> dict[str, pd.DataFrame]:
    """A made-up table, cut into groups of people and into groups of columns.

    Under replace your values may be those of a row in another group: the count of the next one may change as well.
    """
    rows = {person: group for group, block in enumerate(np.array_split(PEOPLE, parts)) for person in block}
    blocks = {column: group for group, block in enumerate(np.array_split(COLUMNS, parts)) for column in block}
    own = rows["You"]
    touched = {own} if relation is Relation.ADD_REMOVE else {own, (own + 1) % parts}
    cells = [(person, column) for person in PEOPLE for column in COLUMNS]
    base = pd.DataFrame(cells, columns=["person", "column"])
    by_people = base["person"].map(rows)
    by_columns = base["column"].map(blocks)
    counts = {part: COUNT.format(number=part + 1) for part in range(parts)}
    return {
        "people": base.assign(part=by_people.map(counts), yours=by_people.isin(touched)),
        "columns": base.assign(part=by_columns.map(counts), yours=True),
    }


def _some(parts: int) -> int:
    if parts < 1:
        raise ParameterError("There is no part to ask.", "Split into one part at least.")
    return parts


Integers = NDArray[np.int64]
DOUBLE_BITS, FEW_BITS = 53, 20
WIDEST = 30  # possible answers of each world when zoomed in, about
NEAR = 32  # lots on either side in which another one with the same answer is looked for


def textbook_laplace(lots: Integers, bits: int, scale: float) -> Floats:
    """Laplace noise by inverting the distribution, as programs compute it: of the uniform numbers lot / 2^bits.

    With 53 bits these are the uniform numbers of most libraries, and the noise is that of NumPy's own Laplace sampler,
    but for the last bits: NumPy computes 2 - u - u, which drops one bit of u.
    Lots are from 1 to 2^bits - 1, because 0 has infinite noise.
    """
    middle = lots / 2.0**bits - 0.5
    return np.asarray(-scale * np.sign(middle) * np.log(1 - 2 * np.abs(middle)))


def possible_answers(count: int, epsilon: float, bits: int, low: float, high: float) -> pd.DataFrame:
    """All answers in low..high that are possible in either world, found by trying every uniform number of a few bits.

    `both`: whether the other world can give exactly this number too.
    """
    if not 1 < bits <= FEW_BITS:
        raise ParameterError(f"All uniform numbers are tried for 2 to {FEW_BITS} bits only.", "Choose fewer bits.")
    noise = textbook_laplace(np.arange(1, 2**bits), bits, 1 / epsilon)
    first, second = np.unique(count + noise), np.unique(count + 1 + noise)
    parts = [
        pd.DataFrame({"world": name, "answer": own, "both": np.isin(own, other)})
        for name, own, other in (("without", first, second), ("with", second, first))
    ]
    found = pd.concat(parts, ignore_index=True)
    return found[found["answer"].between(low, high)].reset_index(drop=True)


def zoomed_answers(count: int, epsilon: float, bits: int) -> pd.DataFrame:
    """The possible answers around the middle of both counts, about 30 of each world."""
    gap = 2.0 ** (1 - bits) / epsilon * exp(epsilon / 2)
    low, high = count + 0.5 - WIDEST / 2 * gap, count + 0.5 + WIDEST / 2 * gap
    return possible_answers(count, epsilon, bits, low, high)


def telltale_share(count: int, epsilon: float, *, bits: int = DOUBLE_BITS, draws: int = 20_000, seed: int = 0) -> float:
    """The share of drawn answers without you that are impossible with you: each of them betrays the world for sure.

    For every answer the uniform number is computed that would give it in the other world, and all numbers near that one
    are tried, in the same arithmetic.
    """
    scale, most = 1 / epsilon, 2**bits - 1
    lots = np.random.default_rng(seed).integers(1, most, draws, endpoint=True)
    answers = count + textbook_laplace(lots, bits, scale)
    needed = answers - (count + 1)
    tail = np.exp(-np.abs(needed) / scale) / 2
    place = np.rint(np.where(needed < 0, tail, 1 - tail) * 2.0**bits).astype(np.int64)
    found = np.zeros(draws, dtype=bool)
    for step in range(-NEAR, NEAR + 1):
        other = np.clip(place + step, 1, most)
        found |= (count + 1) + textbook_laplace(other, bits, scale) == answers
    return float(1 - found.mean())
