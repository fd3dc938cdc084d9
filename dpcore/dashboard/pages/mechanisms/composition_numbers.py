"""Numbers behind the charts of composition, and the holes in textbook Laplace noise.

Mironov 2012 ("On significance of the least significant bits for differential privacy", CCS):
programs compute noise from a uniform number that has finitely many values. So a count plus noise
has finitely many values too, with holes between them. Another count has its holes elsewhere. An
answer in a hole of one world proves that it came from the other world, whatever epsilon is. The
proof for real numbers does not cover this.
"""

from itertools import product
from math import exp

import numpy as np
import pandas as pd
from scipy.stats import binom, laplace

from dpcore.accounting.relation import Epsilon, Relation, exact
from dpcore.arguments import Floats, Ints
from dpcore.dashboard.count_noise import CountNoise
from dpcore.language import phrase

PEOPLE = ("A", "B", "You", "C", "D", "E", "F", "G")
COLUMNS = ("age", "town", "job", "ill")
COUNT = phrase("count {number:,}")  # of a part


def repeated_answers(count: float, epsilon: float, answers: int, seed: int) -> pd.DataFrame:
    """Return repeated noisy answers to one count, and their average so far.

    Each answer is `count` with Laplace noise at `epsilon`. The frame has one row per answer: its
    number `answers`, the answer, the average, the average's standard deviation sqrt(2 / answers) /
    epsilon, and the epsilon spent in all. `seed` fixes each answer's noise, so more answers leave
    earlier ones unchanged.
    """
    noise, number = CountNoise("Laplace", epsilon), np.arange(1, answers + 1)
    draws = np.random.default_rng(seed).uniform(np.finfo(float).tiny, 1.0, answers)
    found = pd.DataFrame({"answers": number, "answer": count + noise.quantile(draws)})
    found["average"] = found["answer"].cumsum() / number
    return found.assign(deviation=noise.deviation / np.sqrt(number), epsilon_total=number * epsilon)


def average_deviations(epsilon: float, most: int) -> pd.DataFrame:
    """Return the standard deviation of the average of 1 to `most` answers with Laplace noise.

    The frame has one row per number k of answers, and three deviations. `each`: every answer has
    epsilon, so the average has variance 2 / (k epsilon^2) and all cost k epsilon. `shared`: every
    answer has epsilon / k, so the average has variance 2 k / epsilon^2 and all cost epsilon.
    `once`: a single answer has epsilon, and variance 2 / epsilon^2.
    """
    number, once = np.arange(1, most + 1), CountNoise("Laplace", epsilon).deviation
    averages = {"each": once / np.sqrt(number), "shared": once * np.sqrt(number)}
    return pd.DataFrame({"answers": number, **averages, "once": once})


def loss_distribution(epsilon: float, answers: int) -> pd.DataFrame:
    """Return the distribution of the summed privacy loss of `answers` noisy counts.

    Each answer about one count has geometric noise at `epsilon`. Its loss is the log of the ratio
    of its probabilities with and without the person. With the person in the data, the loss is
    +epsilon with probability e^epsilon / (1 + e^epsilon), and -epsilon otherwise. So the sum over k
    answers is epsilon (2 B - k), where B is binomial; it is at most k epsilon. The frame has one
    row per possible sum: `loss` and `probability`.
    """
    up = np.arange(answers + 1)
    chance = 1 / (1 + exp(-epsilon))
    return pd.DataFrame({"loss": epsilon * (2 * up - answers), "probability": binom.pmf(up, answers, chance)})


def epsilon_from_delta(epsilon: float, answers: int, delta: float) -> float:
    """Return the smallest epsilon at which `answers` noisy counts together are (epsilon, delta)-DP.

    Each count has geometric noise at the parameter `epsilon`.

    For a result e, the needed delta is the sum of probability * (1 - e^(e - loss)) over all losses
    above e, by `loss_distribution`. Any other set of the largest losses gives less, so e is enough
    if each such set allows it. The opposite direction (without the person over with) has the same
    losses and probabilities.
    """
    frame = loss_distribution(epsilon, answers)[::-1]
    above = frame["probability"].cumsum()
    discounted = (frame["probability"] * np.exp(-frame["loss"])).cumsum()
    needed = np.log((above - delta)[above > delta] / discounted)
    return float(needed.max().clip(0, answers * epsilon))


def split_people_epsilon(epsilon: Epsilon, groups: int, relation: Relation) -> Epsilon:
    """Return the epsilon of all counts together, one count per group of people.

    The `groups` are disjoint, and each count has `epsilon`. Under add/remove a person is in one
    group, so one count changes. Under replace a person may leave one group and enter another, so
    two counts change if there are two groups.
    """
    return exact(epsilon) * min(relation.histogram_l1, groups)


def split_columns_epsilon(epsilon: Epsilon, columns: int) -> Epsilon:
    """Return the epsilon of all counts together, one count per column: they add up.

    Each count has `epsilon`. Each person has a value in every column, so one person can change all
    counts.
    """
    return exact(epsilon) * columns


def split_tables(parts: int, relation: Relation) -> dict[str, pd.DataFrame]:
    """Return a made-up table split into `parts` groups of people, and into groups of columns.

    The two frames, `people` and `columns`, have one row per cell with its group (`part`) and
    whether your row can change that group's count (`yours`). Under replace your row may move to
    another group, so the next group's count can change as well.
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


DOUBLE_BITS = 53
WIDEST = 30  # about as many possible answers of each world are shown
NEAR = 32  # numerators on either side that are tried for the same answer


def textbook_laplace(numerators: Ints, bits: int, scale: float) -> Floats:
    """Return Laplace noise by inverting the distribution at u = numerator / 2^bits.

    `numerators` are integers in 1..2^bits - 1; 0 would give infinite noise. With 53 bits this is
    the noise of most libraries. NumPy's sampler differs in the last bits only: it computes 2 - u -
    u, which drops one bit of u.
    """
    middle = numerators / 2.0**bits - 0.5
    return np.asarray(-scale * np.sign(middle) * np.log(1 - 2 * np.abs(middle)))


def possible_answers(count: int, epsilon: float, bits: int, low: float, high: float) -> pd.DataFrame:
    """Return all possible noisy counts within low..high in two worlds, by trying every number u.

    Without the person the true count is `count`, with the person `count` + 1. Noise is that of
    `textbook_laplace` at a uniform number u of `bits` bits. The frame has the columns `world`,
    `answer` and `both`: whether the other world can produce exactly this answer too.
    """
    noise = textbook_laplace(np.arange(1, 2**bits), bits, 1 / epsilon)
    found = pd.DataFrame({"without": count + noise, "with": count + 1 + noise})
    found = found.melt(var_name="world", value_name="answer").drop_duplicates()
    found = found.assign(both=found.duplicated("answer", keep=False))
    return found[found["answer"].between(low, high)].reset_index(drop=True)


def zoomed_answers(count: int, epsilon: float, bits: int) -> pd.DataFrame:
    """Return the possible answers near `count` + 1/2, about 30 of each world.

    The frame, `bits` and the two worlds are those of `possible_answers`.
    """
    middle, reach = count + 0.5, WIDEST * 2.0**-bits / epsilon * exp(epsilon / 2)
    return possible_answers(count, epsilon, bits, middle - reach, middle + reach)


def telltale_share(count: int, epsilon: float, *, bits: int = DOUBLE_BITS, draws: int = 20_000, seed: int = 0) -> float:
    """Return the share of answers without the person that are impossible with the person.

    Each such answer proves that the person is not in the data. Of `draws` answers at random, the
    number is computed that would produce the answer in the other world. All numbers of `bits` bits
    near that one are then tried with the same arithmetic as in `textbook_laplace`.
    """
    scale, most = 1 / epsilon, 2**bits - 1
    rng = np.random.default_rng(seed).integers(1, most, draws, endpoint=True)
    answers = count + textbook_laplace(rng, bits, scale)
    grid_index = np.rint(laplace.cdf(answers, count + 1, scale) * 2.0**bits).astype(np.int64)
    near = np.clip(grid_index + np.arange(-NEAR, NEAR + 1)[:, None], 1, most)
    found = count + 1 + textbook_laplace(near, bits, scale) == answers
    return float(1 - found.any(axis=0).mean())
