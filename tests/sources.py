"""Sources of noise for tests: one that adds none and listens, one that does not look."""

import numpy as np

from dpcore.mechanisms.noise import Noise

__all__ = ["Blind", "Watched"]


class Watched(Noise):
    """Adds nothing, takes the best candidate (the first of them), and writes down what it was asked."""

    on_counts = "laplace"
    label = "none"

    def __init__(self):
        self.counted, self.chosen = [], []

    def counts(self, counts, scale):
        self.counted.append((counts.size, scale))
        return counts.astype(float)

    def variance(self, scale):
        return 2 * scale**2

    def reals(self, values, scale, **_):
        raise AssertionError("No scores are published.")

    def select(self, scores, factor):
        self.chosen.append((len(scores), factor))
        return np.argmax(scores)


class Blind(Watched):
    """Answers of its own, whatever the rows are."""

    def counts(self, counts, scale):
        return np.random.default_rng(counts.size).normal(3, 5, counts.shape)

    def select(self, scores, factor):
        self.chosen.append((len(scores), factor))
        return np.intp(len(self.chosen) * 7 % len(scores))
