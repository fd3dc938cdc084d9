"""Commits say where and what in one line, and why below it: CONTRIBUTING.md, Commits."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SINCE = "157987f"  # earlier ones may read as they like
SUBJECT = re.compile(r"(?=.{1,72}$)[a-z][a-z0-9 -]*: (?P<verb>[a-z]+)\b.*[^.\s]")
NO_VERB = re.compile(r"an?|the|it|no|not|(?!(feed|need|embed|seed|bring)$).*(ed|ing|[^s]s)")


def faults(subject: str, body: str) -> list[str]:
    """What is wrong with a commit's message, in words."""
    found = SUBJECT.fullmatch(subject)
    wrong = {
        "write `area: what` in at most 72 characters, without a full stop": found is None,
        "begin with an imperative: add, not adds": found and NO_VERB.fullmatch(found["verb"]),
        "say why in a body": not body.strip(),
    }
    return [remedy for remedy, needed in wrong.items() if needed]


def git(*words: str) -> str:
    """What git says; nothing if it refuses."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout


def test_commits_say_where_what_and_why() -> None:
    here = (ROOT / ".git").exists() and shutil.which("git") is not None
    if not (here and git("rev-parse", "--verify", f"{SINCE}^{{commit}}")):
        pytest.skip("Git does not know them: a source distribution, or a shallow clone.")
    log = git("log", "--no-merges", "-n500", "--format=%h%x1f%s%x1f%b%x1e", f"{SINCE}..HEAD")
    commits = [entry.strip().split("\x1f") for entry in log.split("\x1e") if entry.strip()]
    found = {f"{name} {subject}": faults(subject, body) for name, subject, body in commits}
    assert {commit: why for commit, why in found.items() if why} == {}


def test_other_messages_are_named() -> None:
    wrong = ["Add a check", "docs: added a check", "docs: adds one", "docs: a check", "docs: add."]
    for subject in (*wrong, f"docs: add {'a' * 70}"):
        assert len(faults(subject, "Because.")) == 1, subject
    assert faults("docs: add a check", "\n") == ["say why in a body"]
    assert faults("docs: add a check", "Because.") == []
