"""Test whether draws follow a discrete distribution."""

import numpy as np
from scipy import stats

OFTEN = 20


def agreement(observed, expected):
    """Return the p-value of a chi-squared test; counts and expected counts have shape (values,).

    The statistic is chi-squared only where every value is expected often. A value expected a tenth
    of a time occurs three times in one run of six thousand, and would get a p-value of 1e-17. So
    the rarest values are pooled until their group is expected often.
    """
    observed, expected = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    assert not observed[expected == 0].any()
    rarest_first = np.argsort(expected)
    pooled = np.cumsum(expected[rarest_first])
    joined = np.searchsorted(pooled, OFTEN) + 1
    groups = np.append(0, np.arange(joined, len(expected)))
    return stats.chisquare(*(np.add.reduceat(counts[rarest_first], groups) for counts in (observed, expected))).pvalue
