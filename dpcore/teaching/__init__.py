"""The distributions of the basic mechanisms, as numbers to draw: no data, nothing secret, nothing to spend.

counts      noise on a count, seen from two neighboring worlds: Laplace, geometric, Gaussian
choices     the exponential mechanism, randomized response, and what an observer may come to believe
composing   one count asked again and again, and people or columns split into groups
floats      the numbers that textbook noise in floating point can and cannot give

Two worlds differ by one person: without you a count is n, with you it is n + 1. The log ratio of an answer is the
logarithm of its probability with you over its probability without you.
"""

from dpcore.teaching.choices import (
    Voter,
    choice_loss,
    choice_probabilities,
    election,
    posterior,
    response_loss,
    response_matrix,
    votes_from,
)
from dpcore.teaching.composition import (
    average_deviations,
    loss_epsilon,
    losses,
    possible_answers,
    repeated_answers,
    split_columns_epsilon,
    split_people_epsilon,
    telltale_share,
    textbook_laplace,
)
from dpcore.teaching.counts import (
    MECHANISMS,
    CountNoise,
    Gaussian,
    Geometric,
    Laplace,
    draws,
    gaussian_delta,
    gaussian_sigma,
    make_count_noise,
    worlds,
)

__all__ = [
    "MECHANISMS",
    "CountNoise",
    "Gaussian",
    "Geometric",
    "Laplace",
    "Voter",
    "average_deviations",
    "choice_loss",
    "choice_probabilities",
    "draws",
    "election",
    "gaussian_delta",
    "gaussian_sigma",
    "loss_epsilon",
    "losses",
    "make_count_noise",
    "possible_answers",
    "posterior",
    "repeated_answers",
    "response_loss",
    "response_matrix",
    "split_columns_epsilon",
    "split_people_epsilon",
    "telltale_share",
    "textbook_laplace",
    "votes_from",
    "worlds",
]
