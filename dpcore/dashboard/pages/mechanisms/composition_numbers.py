"""What many answers cost together, what they give together, and which ones textbook noise cannot give.

Mironov 2012 ("On significance of the least significant bits for differential privacy", CCS): noise
is computed from a uniform number that has finitely many values, so that a count plus noise has
finitely many values too, with holes in between. Another count has its holes elsewhere. An answer in
a hole of the other world tells for sure which world it came from, whatever epsilon is. The proof
for real numbers does not see it.
"""

from itertools import product
from math import exp

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom, laplace

from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Floats
from dpcore.dashboard.count_noise import CountNoise
from dpcore.language import phrase

PEOPLE = ("A", "B", "You", "C", "D", "E", "F", "G")
COLUMNS = ("age", "town", "job", "ill")
COUNT = phrase("count {number:,}")  # of a part


def repeated_answers(count: float, epsilon: float, answers: int, seed: int) -> pd.DataFrame:
    """One count asked again and again with Laplace noise, `epsilon` for each answer, and the average so far.

    `deviation` is the average's standard deviation, sqrt(2 / answers) / epsilon. A seed fixes the
    lots of every answer: more answers leave the earlier ones as they are.
    """
    noise, number = CountNoise("Laplace", epsilon), np.arange(1, answers + 1)
    draws = np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, answers)
    found = pd.DataFrame({"answers": number, "answer": count + noise.quantile(draws)})
    found["average"] = found["answer"].cumsum() / number
    return found.assign(deviation=noise.deviation / np.sqrt(number), epsilon_total=number * epsilon)


def average_deviations(epsilon: float, most: int) -> pd.DataFrame:
    """The standard deviation of the average of 1 to `most` answers with Laplace noise.

    `each`, with epsilon for each answer: the variance is 2 / (k epsilon^2), for k epsilon in all;
    `shared`, with epsilon / k for each: 2 k / epsilon^2, for epsilon in all; `once`, one answer
    with all of epsilon: 2 / epsilon^2.
    """
    number, once = np.arange(1, most + 1), CountNoise("Laplace", epsilon).deviation
    averages = {"each": once / np.sqrt(number), "shared": once * np.sqrt(number)}
    return pd.DataFrame({"answers": number, **averages, "once": once})


def losses(epsilon: float, answers: int) -> pd.DataFrame:
    """How the log ratios of several answers about one count add up, with you in it and geometric noise.

    With geometric noise on a count, every answer's log ratio is +epsilon or -epsilon, and +epsilon
    with probability e^epsilon / (1 + e^epsilon) in the world with you. The sum of k of them is
    therefore epsilon (2 B - k) with B binomial: exact, and k epsilon at most. One row per possible
    sum.
    """
    up = np.arange(answers + 1)
    chance = 1 / (1 + exp(-epsilon))
    return pd.DataFrame({"loss": epsilon * (2 * up - answers), "probability": binom.pmf(up, answers, chance)})


def loss_epsilon(epsilon: float, answers: int, delta: float) -> float:
    """The smallest epsilon for which so many geometric answers about one count are (epsilon, delta)-private together.

    The delta of an epsilon e is the sum of probability * (1 - e^(e - loss)) over the losses above
    e, and less over any other set of the largest losses: e is enough if each such set says so. The
    other direction, without you over with you, has the same losses with the same probabilities.
    """
    frame = losses(epsilon, answers)[::-1]
    above = frame["probability"].cumsum()
    discounted = (frame["probability"] * np.exp(-frame["loss"])).cumsum()
    needed = np.log((above - delta)[above > delta] / discounted)
    return float(needed.max().clip(0, answers * epsilon))


def split_people_epsilon(epsilon: Epsilon, groups: int, relation: Relation) -> Epsilon:
    """What counts of disjoint groups of people cost together, each asked with `epsilon`.

    One person more is in one group only, whose count alone moves. A person whose values change may
    leave one group and enter another: two counts move, if there are two.
    """
    return exact(epsilon) * min(relation.histogram_l1, groups)


def split_columns_epsilon(epsilon: Epsilon, columns: int) -> Epsilon:
    """What a count of each of several columns costs together: everybody has a cell in all of them, and all may move."""
    return exact(epsilon) * columns


def split_tables(parts: int, relation: Relation) -> dict[str, pd.DataFrame]:
    """A made-up table, cut into groups of people and into groups of columns.

    Under replace your values may be those of a row in another group: the count of the next one may
    change as well.
    """
    cells = pd.DataFrame(product(PEOPLE, COLUMNS), columns=["person", "column"])
    by_people = cells["person"].map(PEOPLE.index) * parts // len(PEOPLE)
    by_columns = cells["column"].map(COLUMNS.index) * parts // len(COLUMNS)
    own = PEOPLE.index("You") * parts // len(PEOPLE)
    touched = [(own + step) % parts for step in range(relation.histogram_l1)]
    counts = {part: COUNT.format(number=part + 1) for part in range(parts)}
    return {
        "people": cells.assign(part=by_people.map(counts), yours=by_people.isin(touched)),
        "columns": cells.assign(part=by_columns.map(counts), yours=True),
    }


GridIntegers = NDArray[np.int64]
DOUBLE_BITS = 53
WIDEST = 30  # possible answers of each world when zoomed in, about
NEAR = 32  # lots on either side in which another one with the same answer is looked for


def textbook_laplace(lots: GridIntegers, bits: int, scale: float) -> Floats:
    """Laplace noise by inverting the distribution, as programs compute it: of the uniform numbers lot / 2^bits.

    With 53 bits these are the uniform numbers of most libraries, and the noise is that of NumPy's
    own Laplace sampler, but for the last bits: NumPy computes 2 - u - u, which drops one bit of u.
    Lots are from 1 to 2^bits - 1, because 0 has infinite noise.
    """
    middle = lots / 2.0**bits - 0.5
    return np.asarray(-scale * np.sign(middle) * np.log(1 - 2 * np.abs(middle)))


def possible_answers(count: int, epsilon: float, bits: int, low: float, high: float) -> pd.DataFrame:
    """All answers in low..high that are possible in either world, found by trying every uniform number of a few bits.

    `both`: whether the other world can give exactly this number too.
    """
    noise = textbook_laplace(np.arange(1, 2**bits), bits, 1 / epsilon)
    found = pd.DataFrame({"without": count + noise, "with": count + 1 + noise})
    found = found.melt(var_name="world", value_name="answer").drop_duplicates()
    found = found.assign(both=found.duplicated("answer", keep=False))
    return found[found["answer"].between(low, high)].reset_index(drop=True)


def zoomed_answers(count: int, epsilon: float, bits: int) -> pd.DataFrame:
    """The possible answers around the middle of both counts, about 30 of each world."""
    middle, reach = count + 0.5, WIDEST * 2.0**-bits / epsilon * exp(epsilon / 2)
    return possible_answers(count, epsilon, bits, middle - reach, middle + reach)


def telltale_share(count: int, epsilon: float, *, bits: int = DOUBLE_BITS, draws: int = 20_000, seed: int = 0) -> float:
    """The share of drawn answers without you that are impossible with you: each of them betrays the world for sure.

    For every answer the uniform number is computed that would give it in the other world, and all
    numbers near that one are tried, in the same arithmetic.
    """
    scale, most = 1 / epsilon, 2**bits - 1
    rng = np.random.default_rng(seed).integers(1, most, draws, endpoint=True)
    answers = count + textbook_laplace(rng, bits, scale)
    grid_index = np.rint(laplace.cdf(answers, count + 1, scale) * 2.0**bits).astype(np.int64)
    near = np.clip(grid_index + np.arange(-NEAR, NEAR + 1)[:, None], 1, most)
    found = count + 1 + textbook_laplace(near, bits, scale) == answers
    return float(1 - found.any(axis=0).mean())
