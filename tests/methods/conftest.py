"""A door that tells what it is asked to count."""

import pytest

from dpcore.door import PrivateTable


@pytest.fixture
def counted(monkeypatch):
    """Every question for counts: families, how they are asked for, and the noisy tables."""
    wanted, answer = [], PrivateTable.counts

    def counts(self, families, **how):
        wanted.append((families, how, answer(self, families, **how)))
        return wanted[-1][2]

    monkeypatch.setattr(PrivateTable, "counts", counts)
    return wanted
