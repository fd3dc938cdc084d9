"""A door that records its queries for counts."""

import pytest

from dpcore.door import PrivateTable


@pytest.fixture
def counted(monkeypatch):
    """Every query for counts: families, further arguments, and the noisy tables."""
    queries, answer = [], PrivateTable.counts

    def counts(self, families, **how):
        queries.append((families, how, answer(self, families, **how)))
        return queries[-1][2]

    monkeypatch.setattr(PrivateTable, "counts", counts)
    return queries
