"""Test `.ci/run`, the workflows that call it, and the selection of slow tests."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_project import RANK

from scripts import audits

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")}
RUN = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
CHECKED = ["install", *re.findall(r"^(?:step \w+|exec) make (\w+)", RUN, re.MULTILINE)]
FAKE_MAKE = """#!/bin/sh
echo "$1 $2" >> "$CALLS"
[ "$1" = "$BROKEN" ] && { echo "1 failed"; exit 1; }
echo "1 passed in $1"
"""


def jobs(name: str) -> dict[str, str]:
    """Return the jobs of a workflow file."""
    parts = re.split(r"^  (\w+):", WORKFLOWS[name].partition("\njobs:\n")[2], flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_actions_are_pinned_by_their_commit():
    used = [use for text in WORKFLOWS.values() for use in re.findall(r"uses: (.*)", text)]
    assert len(used) > 10
    for use in used:
        own = use.startswith("./") and (ROOT / use).is_file()
        assert own or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+(\.\d+)+", use), use


def test_every_change_and_every_release_passes_all_checks():
    assert {"check", "docs", "test", "app", "browser"} < set(CHECKED)
    assert "pull_request:" in WORKFLOWS["test.yml"]
    assert "- run: .ci/run\n" in jobs("test.yml")["everything"]
    assert "- run: make nightly\n" in jobs("nightly.yml")["everything"]
    release = jobs("release.yml")
    assert "uses: ./.github/workflows/test.yml" in release["test"]
    assert "uses: ./.github/workflows/nightly.yml" in release["nightly"]
    assert "needs: [test, nightly, build]" in release["publish"]


@pytest.fixture
def ci(tmp_path):
    """Run `.ci/run` in a folder where make and apt-get only record their calls."""
    folder, programs = tmp_path / "checkout", tmp_path / "bin"
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    programs.mkdir()
    for name, text in {"make": FAKE_MAKE, "sleep": "", "npm": "", "chromium": "", "python3": ""}.items():
        (programs / name).write_text(text or "#!/bin/sh\n")
        (programs / name).chmod(0o755)

    def run(**variables: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
        calls = tmp_path / "calls"
        calls.write_text("")
        known = {"PATH": f"{programs}:{os.environ['PATH']}", "CALLS": str(calls), "BROKEN": ""}
        command = ["bash", str(folder / ".ci" / "run")]
        done = subprocess.run(command, env={**known, **variables}, capture_output=True, text=True, check=False)
        return done, calls.read_text().splitlines()

    return run


def test_without_data_sets_the_other_tests_run_and_a_note_is_printed(ci, tmp_path):
    done, calls = ci()
    assert (done.returncode, [call.split()[0] for call in calls]) == (0, CHECKED)
    assert "no data sets here" in done.stdout
    (tmp_path / "shared" / "data").mkdir(parents=True)
    done, calls = ci()
    assert (done.returncode, "no data sets" in done.stdout) == (0, False)
    done, calls = ci(DPCORE_DATA=str(tmp_path / "nowhere"))
    assert (done.returncode, calls) == (1, [])


def test_a_failure_ends_the_run(ci):
    for broken in CHECKED:
        done, calls = ci(BROKEN=broken)
        assert done.returncode != 0
        tries = 4 if broken == "install" else 1  # what asks a network is tried again
        assert [call.split()[0] for call in calls] == [*CHECKED[: CHECKED.index(broken)], *[broken] * tries]


WORDS_AND_PICTURES = {"charts", "language"}


def test_all_packages_that_methods_import_are_audited():
    below = {name for name, rank in RANK.items() if rank <= RANK["methods"]} - WORDS_AND_PICTURES
    assert {name.removesuffix(".py") for name in audits.AUDITED} == below | {"audit"}


@pytest.fixture
def tree(tmp_path):
    """Return a tree that was just audited, without git."""
    files = [f"dpcore/{name}" if name.endswith(".py") else f"dpcore/{name}/code.py" for name in audits.AUDITED]
    for file in (*files, "dpcore/charts/code.py", "tests/conftest.py", "tests/audit/help.py", audits.LOCK):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("1")
    (tmp_path / "tests" / "test_slow.py").write_text("@pytest.mark.slow")
    (tmp_path / audits.RECORD).write_text("\n".join(audits.digests(tmp_path)))
    return tmp_path


def test_changes_of_audited_files_are_found(tree):
    assert audits.changes(tree) == []
    for file, name in {
        "dpcore/charts/code.py": "",
        "dpcore/methods/deep/new.py": "dpcore/methods",
        "tests/test_slow.py": "tests",
        audits.LOCK: audits.LOCK,
    }.items():
        (tree / file).parent.mkdir(exist_ok=True)
        before = audits.changes(tree)
        (tree / file).write_text("# slow")
        assert {*audits.changes(tree)} - {*before} == {name} - {""}


def test_the_commit_selects_the_tenth_and_without_git_the_sources_do(tree, monkeypatch, request):
    conftest = request.config.pluginmanager.get_plugin(str(audits.ROOT / "tests" / "conftest.py"))

    def tenth(text):
        items = [SimpleNamespace(nodeid=f"tests/test_it.py::test_{i}") for i in range(1_000)]
        hook = SimpleNamespace(pytest_deselected=lambda **_: None)
        conftest.pytest_collection_modifyitems(SimpleNamespace(getoption=lambda _: text, hook=hook), items)
        return {item.nodeid for item in items}

    assert 50 < len(tenth("one")) < 150
    assert tenth("one") != tenth("two")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tree.parent))
    before = audits.commit(tree)
    (tree / "dpcore" / "errors.py").write_text("2")
    assert audits.commit(tree) != before
