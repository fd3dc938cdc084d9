"""A folder whose parts other processes count: releases are those of one process."""

import os
import signal
import sys
from contextlib import suppress
from types import ModuleType

import joblib
import pytest
from folders import encoded
from tables import SMALL, make_frame
from variants import CLASSIFIERS, VARIANTS, alike, fitted_state

from dpcore.methods import METHODS
from dpcore.rows import FolderRows, sources

pytestmark = pytest.mark.slow


class Watched(FolderRows):
    """Rows that record each reading process; with a file "kill", another one dies on the third part."""

    def _read_blocks(self, columns, numbers):
        index, own = self.source.parts[0].path.parents[1], str(os.getpid())
        (index / f"{own}.read").touch()
        if [part.path.name for part in self.source.parts] == ["part-00002.parquet"]:
            with suppress(FileNotFoundError):
                if (index / "kill").read_text() != own:
                    (index / "kill").unlink()
                    os.kill(os.getpid(), signal.SIGKILL)
        return super()._read_blocks(columns, numbers)


@pytest.fixture(scope="module")
def cluster():
    """Two workers of Dask, each a process of this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as found:
        yield found


@pytest.fixture(scope="module")
def codes(tmp_path_factory):
    """Six parts."""
    return encoded(tmp_path_factory.mktemp("workers"), make_frame(600, 1), 100)


@pytest.fixture(autouse=True)
def watched(monkeypatch):
    """Processes run `__main__` first, which a test of the app may have replaced."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    monkeypatch.setattr(sources, "FolderRows", Watched)


def fit(name, codes):
    return METHODS[name](random_state=3, **VARIANTS[name][0]).fit(codes, schema=SMALL)


def readers(codes):
    """Return the processes that have read since the last call."""
    marks = list(codes.parent.glob("*.read"))
    for mark in marks:
        mark.unlink()
    return {int(mark.stem) for mark in marks}


def assert_same(one, other):
    assert alike(fitted_state(one), fitted_state(other))
    assert one.ledger_.to_json() == other.ledger_.to_json()


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in CLASSIFIERS])  # those read by themselves
def test_workers_release_the_same(name, codes):
    alone = fit(name, codes)
    assert readers(codes) == {os.getpid()}
    with joblib.parallel_config("loky", n_jobs=2):
        spread = fit(name, codes)
    assert readers(codes) - {os.getpid()}
    assert_same(alone, spread)


@pytest.mark.parametrize("name", ["NB-Synth", "PrivBayes refined"])
def test_a_worker_that_is_killed_loses_nothing_and_is_charged_once(name, codes):
    alone = fit(name, codes)
    (codes.parent / "kill").write_text(str(os.getpid()))
    with joblib.parallel_config("loky", n_jobs=2), pytest.warns(UserWarning, match="this process counts its parts"):
        spread = fit(name, codes)
    assert not (codes.parent / "kill").exists()
    assert_same(alone, spread)


def test_a_dask_cluster_releases_the_same_and_asks_another_worker_where_one_is_killed(codes, cluster):
    alone = fit("PrivBayes refined", codes)
    (codes.parent / "kill").write_text(str(os.getpid()))
    with joblib.parallel_config("dask"):
        spread = fit("PrivBayes refined", codes)
    assert not (codes.parent / "kill").exists()
    assert readers(codes) - {os.getpid()}
    assert_same(alone, spread)
