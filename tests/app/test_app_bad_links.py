"""Links and files that ask for what no control can say: it is left out and named, and no page is lost to it."""

import driving
import pytest
from driving import TABS, change, opened, run, tab
from prepared import FAMILIES, page
from screen import elements, widget
from streamlit.testing.v1 import AppTest

from dpcore.dashboard import links, widgets

BAD = ["null", "", "[]", "{}", "1e999", "-1", "x" * 1_000, "true", "NaN", '"\\ud800"', "1" * 400]
OURS = ["run", "run:0", "tab", "chosen", "lacks", "icons", "own", "taxonomies", "editor.fanout", "", "x" * 999]
PAGES = [*FAMILIES, "attacks", "audit"]  # that take links


def names_on(at: AppTest, name: str) -> set[str]:
    """The controls that a page has drawn, as links call them."""
    parts = at.session_state.get(f"dpcore.settings:{name}", {})
    return {each for part in parts.values() for each in part}


def left_out(at: AppTest) -> str:
    """What the page says that it left out."""
    return " ".join(found.value for found in at.warning if found.icon == ":material/link_off:")


def asked(at: AppTest, **settings: str) -> AppTest:
    """Somebody who opens a link to the page that is open."""
    for name, value in settings.items():
        at.query_params[name] = value
    return run(at)


@pytest.mark.parametrize("name", PAGES)
def test_no_link_takes_a_page_away(name: str, monkeypatch) -> None:
    """Every control of every part is asked for every bad value; each run is the one after the last value, too."""
    monkeypatch.setattr(driving, "PAGE", name)
    at = page()
    parts, names = TABS[name].split() if name in ("audit", "attacks") else [""], names_on(at, name)
    for mode in ("paper", "corrected") if name in FAMILIES else ():
        names |= names_on(change(at, mode=mode), name)
    for part in parts:
        names |= names_on(tab(at, part) if part else at, name)
        usual = dict(at.session_state.get(f"dpcore.settings:{name}", {}))
        for shift in range(0, len(BAD), 1 if len(parts) == 1 else 3):
            values = {each: BAD[(i + shift) % len(BAD)] for i, each in enumerate([*sorted(names), *OURS])}
            asked(at, **values)
            assert not at.error, (part, shift)
            assert "{" not in left_out(at)
            assert not names or left_out(at)
        for each in at.session_state.get(f"dpcore.settings:{name}", {}).values():
            assert all(type(value) in (str, int, float, bool, type(None)) for value in each.values())
            assert not [value for key, value in each.items() if value is None and "seed" not in key]
        assert at.session_state.get(f"dpcore.settings:{name}", {}).keys() == usual.keys()
    opened(opened(at, "home"), name)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_left_out_is_named_and_the_rest_is_taken(name: str, monkeypatch) -> None:
    monkeypatch.setattr(driving, "PAGE", name)
    wrong = {"mode": "null", "epsilon": "1e999", "target:data": "nothing", "foo": "1", "rows:data": "-1"}
    at = asked(page(), seed="7", **wrong)
    told, labels = left_out(at), {each: widget(at, f"{name}.{each}").label for each in ("mode", "epsilon", "target")}
    assert [each for each in labels.values() if each not in told] == []
    assert f"{1 + (name in ('forests', 'responses'))} " in told  # that it does not have at all
    assert "nothing" not in told
    order = [one.type if one.type == "warning" else one.key for one in elements(at)]
    assert order.index("warning") < order.index(f"{name}.mode")  # seen without scrolling
    assert at.session_state[f"{name}.chosen"][1]["random_state"] == 7
    assert at.session_state[f"{name}.chosen"][1]["mode"] == "corrected"
    assert not left_out(run(at))  # and not again
    assert not left_out(asked(at, mode="paper"))


def test_a_file_is_read_as_a_link_is() -> None:
    """A release's own file says null where a field is empty: that is taken, and empties it."""
    at = asked(page(), seed="7")
    at.session_state["dpcore.presets:naive_bayes"] = {"seed": None, "mode": None, "epsilon": True, "smoothing": 2}
    told = left_out(run(at))
    given = at.session_state["naive_bayes.chosen"][1]
    assert (given["random_state"], given["smoothing"]) == (None, 2)
    names = {each: widget(at, f"naive_bayes.{each}").label in told for each in ("seed", "mode", "epsilon")}
    assert names == {"seed": False, "mode": True, "epsilon": True}
    assert "null" not in links.link("naive_bayes", {"epsilon": 1.0, "seed": None}, None)


def test_a_control_knows_what_it_can_say() -> None:
    for bounds, good, bad in (
        ([[1.0, 2.0], 1], [1, 2.0], [None, True, 3, "1", [1.0]]),
        ([["a", "b"]], ["a"], ["c", None, ["a"]]),
        ([1, 20, 3], [1, 20, 5.0], [0, 21, 5.5, None, True, "1", float("nan"), float("inf"), 10**400]),
        ([0.0, 1.0, 0.5, 0.1], [0, 0.55], [-1, None, False, float("nan")]),
        ([0, 9, None], [None, 4], ["", True]),
        ([], [True, False], [None, 1, "true"]),
        ([True], [False], [0]),
        (["1, 2"], ["", "x"], [None, 1, "x" * 1_000]),
    ):
        assert all(widgets.fits(value, bounds) for value in good), bounds
        assert not any(widgets.fits(value, bounds) for value in bad), bounds
    assert widgets.fits(["a"], [["a", "b"]], several=True)
    assert not widgets.fits("a", [["a", "b"]], several=True)
    assert not widgets.fits(["c"], [["a", "b"]], several=True)
