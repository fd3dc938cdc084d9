"""Slow tests run when what they audit has changed: what that is, and which tenth of them runs otherwise."""

from types import SimpleNamespace

import pytest
from test_project import RANK

from scripts import audits

WORDS_AND_PICTURES = {"charts", "language"}


def test_all_that_a_method_stands_on_is_audited():
    below = {name for name, rank in RANK.items() if rank <= RANK["methods"]} - WORDS_AND_PICTURES
    assert {name.removesuffix(".py") for name in audits.AUDITED} == below | {"audit"}


@pytest.fixture
def tree(tmp_path):
    """A tree that has just been audited, which git knows nothing of."""
    files = [f"dpcore/{name}" if name.endswith(".py") else f"dpcore/{name}/code.py" for name in audits.AUDITED]
    for file in (*files, "dpcore/charts/code.py", "tests/conftest.py", "tests/audit/help.py", audits.LOCK):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("1")
    (tmp_path / "tests" / "test_slow.py").write_text("@pytest.mark.slow")
    (tmp_path / audits.RECORD).write_text("\n".join(audits.digests(tmp_path)))
    return tmp_path


def test_a_change_is_noticed_where_it_is_audited(tree):
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


def test_the_commit_chooses_a_tenth_and_without_git_the_sources_do(tree, monkeypatch, request):
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
