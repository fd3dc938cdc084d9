"""What the tests of the dashboard do with its pages, as a person does."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from screen import dataset, errors, language, mendable, tabs, widget
from streamlit.testing.v1 import AppTest

from dpcore.dashboard.jobs import Job
from dpcore.dashboard.session import ShownRelease
from dpcore.language import use_language

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
MENU = PAGES  # all of them are in the menu
PAGE = "naive_bayes"  # or what a test's module calls so
TIMEOUT = 600  # seconds; a busy computer is not a failure
TABS = {  # what tests call what a page shows: a tab, or a part of it, which is chosen there
    "summary": ("Summary", ""),
    "marginals": ("Marginals", "Columns"),
    "pairs": ("Marginals", "Pairs"),
    "accuracy": ("Accuracy", ""),
    "privacy": ("Privacy", "Epsilon"),
    "risk": ("Privacy", "One person"),
    "network": ("Model", "Network"),
    "clusters": ("Model", "Clusters"),
    "tree": ("Model", "Tree"),
    "ask": ("Model", "Ask a range"),
    "errors": ("Model", "Error by range"),
    "trees": ("Model", "Trees"),
    "reports": ("Model", "Reports"),
    "predict": ("Model", "Predict"),
    "figures": ("Paper", "Figures"),
    "redraws": ("Paper", "Run-to-run variation"),
    "survey": ("Paper", "Published variants"),
    "download": ("Download", ""),
}
OWN = {  # what only some pages show
    "naive_bayes": "pairs",
    "networks": "pairs network clusters",
    "taxonomy": "pairs tree ask errors",
    "forests": "trees predict survey",
    "responses": "reports tree predict",
}
OTHERS = {  # the tabs of other pages, as they are ordered on the screen
    "audit": "method own",
    "attacks": "linkage bits averages near game",
    "mechanisms": "noise choosing response odds composition floats",
}


def started(page: str = "home") -> AppTest:
    """The app at a page, in an empty session."""
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT)
    return run(at if page == "home" else at.switch_page(f"pages/{page}.py"))


def linked(page: str, **wanted: str) -> AppTest:
    """Somebody who opens a link to a page."""
    at = started()
    for name, value in wanted.items():
        at.query_params[name] = value
    return run(at.switch_page(f"pages/{page}.py"))


def run(at: AppTest) -> AppTest:
    """One more run of the script, without a traceback."""
    with use_language(language(at)):  # in which AppTest, outside of the session, looks for what is chosen
        at.run()
    assert not at.exception, [(e.message, list(e.stack_trace)) for e in at.exception]
    return at


def opened(at: AppTest, page: str) -> AppTest:
    """The same session at another page."""
    return run(at.switch_page(f"pages/{page}.py"))


def names(at: AppTest) -> list[str]:
    """What tests call what the page shows now; of responses, some only where there is something."""
    if PAGE in OTHERS:
        return OTHERS[PAGE].split()
    others = {name for own in OWN.values() for name in own.split()} - {*OWN.get(PAGE, "").split()}
    found = [name for name in TABS if name not in others]
    if PAGE != "responses":
        return found
    made = shown(at)
    assert made is not None
    artifact = made.release.artifact
    there = {"reports": artifact.reports is not None, "tree": "forest" in artifact.contents}
    return [name for name in found if there.get(name, True)]


def tab(at: AppTest, name: str) -> AppTest:
    """The same page with another tab open, and a part of it."""
    if PAGE in OTHERS:
        at.session_state[f"{PAGE}.tab"] = dict(zip(names(at), tabs(at), strict=True))[name]
        return run(at)
    for key, value in places(name).items():
        at.session_state[key] = value
    return run(at)


def places(name: str) -> dict[str, str]:
    """What the session says if something is open on a page of methods."""
    label, part = TABS[name]
    return {f"{PAGE}.tab": label, **({f"{PAGE}.{label.lower()}.part": part} if part else {})}


def press(at: AppTest, key: str) -> AppTest:
    widget(at, key).click()
    return run(at)


def cancel(monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    """Somebody presses Cancel when the page would show this text; all texts that it had until then."""
    progress, seen = Job.progress, []

    def pressed(job: Job, fraction: float, told: str) -> None:
        seen.append(f"{job.name}: {told}")
        if text in seen[-1]:
            job.canceled.set()
        progress(job, fraction, told)

    monkeypatch.setattr(Job, "progress", pressed)
    return seen


def change(at: AppTest, **settings: Any) -> AppTest:
    """Move settings of the page, one after the other, by their keys without its name; `__` stands for a dot."""
    for name, value in settings.items():
        control = widget(at, f"{PAGE}.{name.replace('__', '.')}")
        if control.value != value:
            control.set_value(value)
            run(at)
    return at


def released(at: AppTest | None = None, **settings: Any) -> AppTest:
    """The page with a release made with some settings."""
    at = change(started(PAGE) if at is None else at, **settings)
    before = shown(at)
    press(at, f"{PAGE}.run")
    assert shown(at) is not None, errors(at)
    assert shown(at) is not before, errors(at)
    return at


def upload(at: AppTest, name: str, raw: bytes) -> AppTest:
    """The data page with a file uploaded."""
    at.file_uploader("data.file").set_value((name, raw, "application/octet-stream"))
    return run(at)


def edit(at: AppTest, edits: dict[int, dict[str, Any]]) -> AppTest:
    """Change cells of the schema table, by row number and column name."""
    (table,) = at.data_editor
    at.session_state[table.key] = {"edited_rows": edits, "added_rows": [], "deleted_rows": []}
    return run(at)


def using(name: str, raw: bytes, *, target: str | None = "ill", declared: bool = True, tested: bool = True) -> AppTest:
    """The data page with an uploaded file in use, some rows of which are set apart for tests."""
    at = upload(started("data"), name, raw)
    assert not mendable(at)
    if target is not None:
        widget(at, "data.target").set_value(target)
        run(at)
    if tested:
        widget(at, "data.accuracy").set_value(True)
        run(at)
    press(at, "data.use" if declared else "data.unproved")
    assert dataset(at).name == name, errors(at)
    return at


def shown(at: AppTest) -> ShownRelease | None:
    """The release that the page shows, with what was computed for its panels."""
    return at.session_state.get("dpcore.shown", {}).get(PAGE)


def people(rows: int = 80, seed: int = 3) -> pd.DataFrame:
    """A small table in which everything depends on the class `ill`; "Zq" marks cells that nobody should see."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.4
    ill[:2] = True, False
    return pd.DataFrame(
        {
            "age": np.where(ill, rng.integers(50, 90, rows), rng.integers(1, 60, rows)),
            "town": np.where(ill, "Zqa", rng.choice(["Zqa", "Zqb", "Zqc"], rows)),
            "ill": np.where(ill, "yes", "no"),
        }
    )


def csv(frame: pd.DataFrame, **how: Any) -> bytes:
    return frame.to_csv(index=False, **how).encode()
