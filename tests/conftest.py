"""Options and hooks of all tests; the main process never loads the fixtures of fixtures.py."""

import gc
import hashlib
import os
from importlib import import_module
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seeds", default="3", help="how many seeds a loop over seeds takes: a number, or all")
    parser.addoption("--tenth", help="run only the tenth of the tests that this text chooses, such as a commit's hash")
    parser.addoption("--luck", default="1", help="tests draw from their names and this: another one is other luck")


def pytest_configure(config: pytest.Config) -> None:
    """Limit each worker to one thread; let Hypothesis draw 20 examples, or 100 with --seeds all."""
    for library in ("OMP", "OPENBLAS"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(import_module("fixtures"), "dpcore fixtures")
    import_module("threadpoolctl").threadpool_limits(1)  # of what is loaded already
    settings, examples = import_module("hypothesis").settings, 100 if config.getoption("--seeds") == "all" else 20
    settings.register_profile(
        "patient",
        deadline=None,  # a busy computer is not a failure
        max_examples=examples,
        derandomize=config.getoption("--luck") == "1",
    )
    settings.load_profile("patient")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the folders `app` and `browser` if the markers rule them out: imports take seconds."""
    if collection_path.parent != Path(__file__).parent or not collection_path.is_dir():
        return None
    wanted, folder = config.option.markexpr.split(" and "), collection_path.name
    return any((f"not {name}" if folder == name else name) in wanted for name in ("app", "browser")) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if chosen_by := config.getoption("--tenth"):
        parts: tuple[list[pytest.Item], list[pytest.Item]] = [], []
        for item in items:
            number = int(hashlib.sha256(f"{chosen_by} {item.nodeid}".encode()).hexdigest(), 16)
            parts[number % 10 > 0].append(item)
        items[:] = parts[0]
        config.hook.pytest_deselected(items=parts[1])


def pytest_collection_finish() -> None:
    """Freeze loaded objects, so that garbage collections do not visit them again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
