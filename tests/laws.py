"""Whether draws follow a distribution on a few places."""

import numpy as np
from scipy import stats

OFTEN = 20


def agreement(observed, expected):
    """The p-value of the chi-squared test of how often each place was met; shape (places,), expectations of one sum.

    The statistic's distribution is that of chi-squared only where every place is expected often: one that is expected
    a tenth of a time is met three times in one run of six thousand, and the test would give it odds of 1e-17. So the
    rarest places count as one, which is joined by the next rarest until it is expected often itself.
    """
    observed, expected = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    assert not observed[expected == 0].any()
    rarest_first = np.argsort(expected)
    pooled = np.cumsum(expected[rarest_first])
    joined = np.searchsorted(pooled, OFTEN) + 1
    groups = np.append(0, np.arange(joined, len(expected)))
    return stats.chisquare(*(np.add.reduceat(counts[rarest_first], groups) for counts in (observed, expected))).pvalue
