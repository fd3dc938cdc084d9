"""Files made to hurt: each is read, or refused with its cause, by a process that has 20 seconds of work and 1 GB."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from unittest.mock import Mock

import pandas as pd
import pytest
from corpus import CASES, Case
from nursery import Nursery

from dpcore.datasets import worker
from dpcore.datasets.reading import read_frame
from dpcore.errors import DataError

TABLE = b"a,b\n1,x\n2,y\n"


@pytest.fixture(scope="module")
def nursery(tmp_path_factory) -> Iterator[Nursery]:
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


@pytest.fixture
def reader(nursery, monkeypatch) -> Nursery:
    monkeypatch.setattr(subprocess, "run", nursery.run)
    return nursery


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.file, marks=[pytest.mark.slow] if case.slow else []) for case in CASES]
)
def test_hostile_files_are_read_or_refused(case: Case, reader) -> None:
    raw = case.make()
    if case.words is None:
        assert len(read_frame(raw, case.file))
    else:
        with pytest.raises(DataError) as caught:
            read_frame(raw, case.file)
        assert case.words in (caught.value.private or str(caught.value))
        assert caught.value.remedy
        assert caught.value.__cause__ is caught.value.__context__ is None
    assert reader.memory <= 2**30
    assert reader.seconds <= 20


def test_encodings_that_are_none_are_refused(reader) -> None:
    for encoding in ("utf\0", "utf-\ud800", "hex", "utf-7", "x" * 100_000):
        with pytest.raises(DataError, match=r"encoding|not valid"):
            read_frame(b"a,b\n+2AA-,x\n", encoding=encoding)  # in UTF-7, half of a character


def test_the_process_reads_what_this_one_would_and_inherits_and_shows_nothing(monkeypatch) -> None:
    run = Mock(wraps=subprocess.run)
    monkeypatch.setenv("DPCORE_TEST_TOKEN", "s3cret")
    monkeypatch.setattr(subprocess, "run", run)
    far, near = read_frame(TABLE), read_frame(TABLE, trusted=True)
    pd.testing.assert_frame_equal(far, near)
    assert far.attrs == near.attrs
    assert "s3cret" not in run.call_args.kwargs["env"].values()
    assert run.call_args.kwargs["stderr"] == subprocess.DEVNULL


def test_each_limit_of_the_process_is_told_from_the_others(reader, monkeypatch) -> None:
    monkeypatch.setattr(worker, "SECONDS", 1)
    with pytest.raises(DataError, match="more than 1 seconds of processor time"):
        read_frame(b"a,b\n" + b"1,2\n" * 12_000_000)
    ended = subprocess.CompletedProcess([], -signal.SIGALRM, b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    with pytest.raises(DataError, match="not finished after 120 seconds by the clock"):
        read_frame(TABLE)


def test_who_waits_for_the_process_does_not_wait_for_ever(monkeypatch) -> None:
    monkeypatch.setattr(worker, "WALL_SECONDS", 0.01)
    with pytest.raises(DataError, match="by the clock"):
        read_frame(TABLE)


def test_it_loads_what_it_needs_and_not_the_package() -> None:
    command = [sys.executable, *worker.FLAGS, "-c", worker.START.replace("\nserve()", "\nprint(*sys.modules)")]
    done = subprocess.run(command, input=worker.module_paths(), capture_output=True, check=True, timeout=60)
    assert b"dpcore.datasets.delimited_text" in done.stdout
    assert not {b"pandas", b"sklearn", b"streamlit", b"dpcore.domain"} & set(done.stdout.split())
