"""Test that commit subjects name an area and an action (CONTRIBUTING.md, Commits)."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SINCE = "157987f"  # earlier ones may read as they like
SUBJECT = re.compile(r"(?=.{1,72}$)[a-z][a-z0-9 ,-]*: (?P<verb>[a-z]+)\b.*[^.\s]")
NO_VERB = re.compile(r"an?|the|it|no|not|(?!(feed|need|embed|seed|bring)$).*(ed|ing|[^s]s)")


def fault(subject: str) -> str:
    """Return what is wrong with a commit subject; empty if nothing."""
    found = SUBJECT.fullmatch(subject)
    if found is None:
        return "write `area: what` in at most 72 characters, without a full stop"
    return "begin with an imperative: add, not adds" if NO_VERB.fullmatch(found["verb"]) else ""


def git(*words: str) -> str:
    """Return git's output; empty if git fails."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout


def test_commit_subjects_name_an_area_and_an_action() -> None:
    here = (ROOT / ".git").exists() and shutil.which("git") is not None
    if not (here and git("rev-parse", "--verify", f"{SINCE}^{{commit}}")):
        pytest.skip("Git does not know them: a source distribution, or a shallow clone.")
    log = git("log", "--no-merges", "-n500", "--format=%s", f"{SINCE}..HEAD").splitlines()
    assert {subject: why for subject in log if (why := fault(subject))} == {}


def test_other_subjects_are_named() -> None:
    wrong = ["Add a check", "docs: added a check", "docs: adds one", "docs: a check", "docs: add."]
    assert all(fault(subject) for subject in [*wrong, f"docs: add {'a' * 70}"])
    assert fault("docs: add a check") == ""
