"""The dashboard in AppTest, run as a server that has been up for a while runs it."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import driving
import pytest
from altair.utils import schemapi
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import app_test

from dpcore import datasets
from dpcore.dashboard import jobs, shell
from dpcore.datasets import Dataset, reading
from dpcore.datasets.formats import parse_table


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of this folder is marked `app`."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("app")


@pytest.fixture(autouse=True)
def this_page(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Tests drive the page that their module names."""
    monkeypatch.setattr(driving, "PAGE", getattr(request.module, "PAGE", driving.PAGE))


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """What a server imports beside its first page: here, no test would wait for it."""
    shell.start_imports()
    shell.wait_for_imports()


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> type[PagesManager]:
    """Runs go through app.py, unless `fresh` is set.

    AppTest forgets, before every run, that app.py calls `st.navigation`. It then finds the folder pages/ and runs the
    page without app.py, as a fresh server does with a deep link: the second run would be another app than the first.
    """

    class Server(PagesManager):
        fresh: ClassVar[bool] = False

        def __init__(self, *args, **kwargs) -> None:
            PagesManager.uses_pages_directory = None if self.fresh else False
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    monkeypatch.setattr(app_test, "PagesManager", Server)
    return Server


@pytest.fixture(autouse=True)
def ledger_file(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where sessions of a test write down what they spend: in memory where there is, as every charge waits for it."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None, ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "state" / "ledger.sqlite"
        monkeypatch.setenv("DPCORE_LEDGER", str(path))
        yield path


@pytest.fixture(autouse=True)
def patient_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages wait until their work is over, as AppTest does not look at them again by itself."""
    monkeypatch.setattr(jobs, "PATIENCE", float(driving.TIMEOUT))


@pytest.fixture(scope="session")
def whole_sample() -> Dataset:
    """The sample as everybody gets it."""
    return datasets.load("sample")


@functools.cache
def few_rows() -> Dataset:
    """2,000 rows of the bundled sample, and its public bound as small: most of a test would be spent on more."""
    whole = datasets.load("sample")
    schema = replace(whole.schema, max_rows=2_000)
    return replace(whole, train=whole.train.head(1_400), test=whole.test.head(600), schema=schema)


@pytest.fixture(autouse=True)
def quick_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample of every session is a small one; the smoke test and the browsers see the whole."""
    small, load = few_rows(), datasets.load
    monkeypatch.setattr(datasets, "load", lambda name, **how: small if name == "sample" else load(name, **how))


LEAVES = {str, int, float, bool, type(None), schemapi.UndefinedType}
deep_copy = schemapi._deep_copy


def quick_copy(found: Any, by_ref: set[str]) -> Any:
    """What Altair copies of a chart whenever it is put into another, without a call for each of its leaves."""
    if isinstance(found, dict):
        return {k: v if type(v) in LEAVES or k in by_ref else quick_copy(v, by_ref) for k, v in found.items()}
    if isinstance(found, list):
        return [v if type(v) in LEAVES else quick_copy(v, by_ref) for v in found]
    if isinstance(found, schemapi.SchemaBase) and not hasattr(found, "__deepcopy__"):
        return type(found)(*quick_copy(list(found._args), by_ref), **quick_copy(found._kwds, by_ref))
    return deep_copy(found, by_ref)


@pytest.fixture(autouse=True)
def quick_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts in less time: they are not checked here, which the unit tests do."""
    monkeypatch.setattr(schemapi, "DEBUG_MODE", False)
    monkeypatch.setattr(schemapi, "_deep_copy", quick_copy)
    monkeypatch.setattr(schemapi.SchemaBase, "validate_property", lambda *_: None)


SCANNED = functools.cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(autouse=True)
def quick_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed packages are searched for components once, as a server does, and not by every session of a test."""
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", SCANNED)


@pytest.fixture(autouse=True)
def quick_files(monkeypatch: pytest.MonkeyPatch, quick_pictures: None) -> None:
    """Files are read in this process: one of its own, which tests/datasets looks at, takes a while to start."""
    monkeypatch.setattr(reading, "parse_in_worker", lambda raw, name, wanted: parse_table(raw, name, **wanted))


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], bytes]]:
    """What the download buttons for zips would give, the latest last."""
    found: list[Callable[[], bytes]] = []
    original = MediaFileManager.add

    def add(self, path_or_data, mimetype, *args, **kwargs):
        if mimetype == "application/zip":
            found.append(lambda: path_or_data)
        return original(self, path_or_data, mimetype, *args, **kwargs)

    monkeypatch.setattr(MediaFileManager, "add", add)
    return found
