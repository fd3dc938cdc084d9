"""Sources of noise for tests: one records queries, one ignores the rows; and recorded answers."""

from copy import deepcopy

import numpy as np

from dpcore.door import Door
from dpcore.mechanisms.noise import Noise

__all__ = ["Blind", "Tape", "Watched"]


class Watched(Noise):
    """Source without noise that selects the first best candidate and records every query."""

    on_counts = "laplace"
    label = "none"

    def __init__(self):
        self.counted, self.chosen, self.together = [], [], []

    def counts(self, counts, scale):
        self.counted.append((counts.size, scale))
        return counts.astype(float)

    def histograms(self, tables, factor, *, public_total):
        self.together.append(([table.size for table in tables], factor, public_total))
        return [table.astype(float) for table in tables]

    def variance(self, scale):
        return 2 * scale**2

    def select_grouped(self, scores, groups, factor, weights=None):
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        return starts + [self.select(some, factor) for some in np.split(scores, starts[1:])]

    def reals(self, values, scale, **_):
        raise AssertionError("No scores are published.")

    def select(self, scores, factor):
        self.chosen.append((len(scores), factor))
        return np.argmax(scores)


class Blind(Watched):
    """Source whose answers do not depend on the rows."""

    def counts(self, counts, scale):
        return np.random.default_rng(counts.size).normal(3, 5, counts.shape)

    def histograms(self, tables, factor, *, public_total):
        drawn = [np.random.default_rng(table.size).normal(3, 5, table.shape) for table in tables]
        return super().histograms(drawn, factor, public_total=public_total)

    def select(self, scores, factor):
        self.chosen.append((len(scores), factor))
        return np.intp(len(self.chosen) * 7 % len(scores))


class Tape:
    """Recorder of one fit's answers of the door, for replay."""

    def __init__(self, monkeypatch):
        self.answers, self.replaying = [], False
        tape = self

        def taped(door, question, entries, draw):
            door.ledger.charge(*entries)
            if tape.replaying:
                expected, answer = tape.answers.pop(0)
                assert expected == question
                return deepcopy(answer)
            answer = draw()
            tape.answers.append((question, deepcopy(answer)))
            return answer

        monkeypatch.setattr(Door, "answer", taped)
