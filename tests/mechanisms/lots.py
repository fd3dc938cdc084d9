"""Lots for randomizers: evenly spread, and handed out in turn."""

import numpy as np


def evenly(parts):
    """Lots that stand for all: the middles of equal parts of [0, 1)."""
    return (np.arange(parts) + 0.5) / parts


def in_turn(*rng):
    waiting = list(rng)

    def source(count):
        assert len(waiting[0]) == count
        return waiting.pop(0)

    return source
