"""Uniform numbers for randomizers: evenly spaced, and returned one array per call."""

import numpy as np


def evenly(parts):
    """Return the middles of equal parts of [0, 1), which stand for all uniform numbers."""
    return (np.arange(parts) + 0.5) / parts


def in_turn(*arrays):
    """Return a source of uniform numbers that gives out `arrays`, one per call."""
    waiting = list(arrays)

    def source(count):
        assert len(waiting[0]) == count
        return waiting.pop(0)

    return source
