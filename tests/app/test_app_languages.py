"""The lesson path in Chinese: no page, tab or chart of it says anything in English but names, and nothing is lost."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from driving import PAGE, change, opened, press, released, run, shown, started
from prepared import page, pressed, with_release
from screen import charts, elements, mendable, said, widget
from streamlit.testing.v1 import AppTest

from dpcore import datasets, experiment
from dpcore.charts.frames import WIDE
from dpcore.dashboard import shell
from dpcore.dashboard.sections import sweep
from dpcore.dashboard.session import Shown
from dpcore.language import speaking
from dpcore.methods import METHODS
from scripts.words import spoken_in_english

LABELS = "Algorithm 1: random rows, noiseless labels (no privacy)"
SAMPLE = datasets.load("sample").schema
# What stays as it is in every language: the sample's columns and their values, methods, files, authors and sources.
TITLES = {
    *SAMPLE.names,
    *(str(value) for column in SAMPLE if not column.numeric for value in column.categories),
    *METHODS,
}
NAMES = TITLES | {*sweep.CATALOG} | {offer.label for kind in METHODS.values() for offer in kind.offers}
UNTRANSLATED = spoken_in_english("zh")
LATIN = re.compile(r"[A-Za-z][A-Za-z'’-]+(?:[ ,]+[A-Za-z][A-Za-z'’-]+)+")  # two words or more
LINK = re.compile(
    r":material/\w+:|<[^>]*>|https?://\S+|[“\"]Census.*?[”\"]|[“\"]Google COVID.*?[”\"]|[“\"]A list of.*?[”\"]"
    r"|“The DCR delusion”|de Montjoye|Census Bureau|`[^`]*`"
)


def texts(at: AppTest) -> Iterator[str]:
    """All that is written on the screen, but for what stands in tables and charts."""
    for found in elements(at):
        proto = getattr(found, "proto", None)
        for field in ("label", "body", "value", "help", "placeholder", "text"):
            told = getattr(proto, field, None)
            if isinstance(told, str):
                yield told
        yield from (str(option) for option in getattr(proto, "options", ()) if isinstance(option, str))


def drawn(part: Any) -> Iterator[str]:
    """The words in a chart's specification that people see."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key in ("title", "text", "subtitle", "description") and isinstance(value, str | list):
                yield from [value] if isinstance(value, str) else (line for line in value if isinstance(line, str))
            yield from drawn(value)
    elif isinstance(part, list):
        for value in part:
            yield from drawn(value)


def english(at: AppTest, names: set[str] = NAMES) -> set[str]:
    """Two English words and more beside each other that are no names."""
    told = [*texts(at), *(line for specification, _ in charts(at) for line in drawn(specification))]
    found = {words for text in told for words in LATIN.findall(LINK.sub(" ", text.replace("\\", "")))}
    lists = {words for words in found if names.issuperset(words.split(", "))}
    return {
        words
        for words in found - lists
        if not any(words in name or name in words for name in names if " " in name)
        and not any(words in text for text in UNTRANSLATED)
    }


def test_home_says_nothing_in_english():
    assert english(turned(started())) == set()


TABS: dict[tuple[str, str], dict[str, Any]] = {  # a page, its tab, and a setting that shows more
    ("attacks", "Who is alone"): {"linkage.step": "noise"},
    ("attacks", "Secrets from counts"): {"bits.step": "noise"},
    ("attacks", "Who took part"): {"averages.step": "noise"},
    ("attacks", "Distance looks safe"): {"near.step": "noise"},
    ("mechanisms", "Noise on a count"): {"noise.mechanism": "Gaussian"},
    ("mechanisms", "Choosing"): {"choosing.voter": "changes"},
    ("mechanisms", "Randomized response"): {},
    ("mechanisms", "What epsilon means"): {},
    ("mechanisms", "Asking again"): {},
    ("mechanisms", "Disjoint groups"): {"groups.relation": "replace"},
    ("mechanisms", "Floating point"): {},
    ("audit", "Attack a method"): {"method": "DiffPRFs"},
    ("audit", "With a row of my own data"): {},
    ("audit", "The membership game"): {"game.mode": "paper"},
}


def turned(at: AppTest) -> AppTest:
    """The same page, once somebody has chosen Chinese on it."""
    at.selectbox("dpcore.language").set_value("zh")
    return run(at)


@pytest.mark.parametrize(("page", "name"), TABS)
def test_a_tab_says_nothing_in_english(page: str, name: str) -> None:
    for settings in ({}, TABS[page, name]):
        at = started(page)
        for key, value in {"tab": name, **settings}.items():
            at.session_state[f"{page}.{key}"] = value
        assert english(turned(run(at))) == set()


def test_no_sentence_of_the_data_page_is_in_two_languages() -> None:
    """Its table and its notes are English, whole; where the rows come from, and what is asked, is Chinese."""
    at = turned(started("data"))
    told = {text for text in texts(at) if re.search(WIDE, text)}
    assert {text for text in told if LATIN.search(LINK.sub(" ", text))} == set()
    assert {"数据与模式", "什么是公开的", "类别列"} <= {*told}
    assert all(re.search(WIDE, name) for name in widget(at, "data.source").options if name != "UCI Adult")


def test_the_ledger_says_nothing_in_english() -> None:
    assert english(turned(started("ledger"))) == set()
    assert english(turned(opened(released(), "ledger"))) == set()


BENCHES = ("forests", "taxonomy", "networks", "responses")
# A settings drawer of theirs with all that is folded away opened, and choices that ask for more.
UNFOLDED: dict[str, Any] = {
    "what": "Learn from reports",
    "split": True,
    "n_trees_ruled": False,
    "max_depth_ruled": False,
    "resample": "poisson",
    "shares": "own",
    "pairs": False,
    "seed": 1,
}


@pytest.mark.parametrize("name", BENCHES)
def test_settings_say_nothing_in_english_whatever_is_chosen(name: str) -> None:
    at = started(name)
    at.session_state[f"{name}.tab"] = "Predict"  # below the settings of reports; the paper's figures are not settings
    at = turned(at)
    for method, offer in ((kind, offer) for kind in METHODS.values() if kind.page == name for offer in kind.offers):
        for settings in ({"what": UNFOLDED["what"]}, UNFOLDED):
            chosen = {"mode": offer.mode, f"variant.{offer.mode}": offer.label, **settings}
            for key, value in chosen.items():
                at.session_state[f"{name}.{key}"] = value
            run(at)
            assert not at.exception, offer.label
            assert at.session_state[f"{name}.chosen"][0] == method.title, offer.label
            assert english(at, TITLES) == set(), offer.label


PANELS = ("Rows", "Price", "Columns", "Pairs", "Accuracy", "Draw again", "The paper's figures", "Risk", "Take home")
SOURCES = ("基于朴素贝叶斯的差分隐私合成数据集发布算法", "Chen, Liu, Feng and Zhao")  # how its publication is cited


def test_a_release_says_nothing_in_english_on_any_tab(whole_sample):
    """But for the publication that the method is from, which stands on its card and beside its figures."""
    made = pressed(PAGE, whole_sample, "", "", ())
    at = page(whole_sample, **{"dpcore.shown": {PAGE: Shown(made.release, made.data)}, "dpcore.language": "zh"})
    for name in PANELS:
        at.session_state[f"{PAGE}.tab"] = name
        run(at)
        cited = [text for text in texts(at) if any(source in text.replace("\\", "") for source in SOURCES)]
        found = {words for words in english(at) if not any(words in text.replace("\\", "") for text in cited)}
        assert not {words for words in found if set(words.split(", ")) - set(SAMPLE.names)}, name


COMPARED: dict[str, Any] = {  # some that were never printed, some that release no rows, some that are local
    "relation": "replace",
    "methods.0": ["NB-Synth", "PrivBayes refined"],
    "methods.1": ["DiffP-ID3"],
    "methods.2": ["PPNB"],
    "epsilons": [0.5],
    "measures": list(sweep.MEASURES),
    "repeats": 1,
}


@pytest.mark.parametrize("more", [{}, {"seed": 5, "modes": ["corrected", "paper"], "axis.void": "of the noise alone"}])
def test_a_comparison_says_nothing_in_english_on_any_tab(monkeypatch, more):
    monkeypatch.setattr(experiment, "stream", partial(experiment.stream, n_jobs=1))
    at = turned(started("compare"))
    assert english(at) == set()
    for key, value in {**COMPARED, **more}.items():
        at.session_state[f"compare.{key}"] = value
    assert english(run(at)) == set()
    at = press(at, "compare.run")
    assert not mendable(at)
    for name in (*map(sweep.in_words, sweep.MEASURES), "Run time", "Medians", "Take away"):
        at.session_state["compare.tab"] = name
        found = english(run(at))
        headings = {heading for table in at.dataframe for heading in table.value}
        assert (found, {heading for heading in headings if heading.isascii()}) == (set(), set()), name
    assert english(turned(opened(at, "ledger"))) == set()


def test_what_is_chosen_and_made_stays_in_another_language():
    """A browser knows a choice by its words: when they change, it has to be told again what is chosen."""
    at = change(with_release(), mode="paper", **{"variant__paper": LABELS})
    first = shown(at)
    for language in ("zh", "en", "zh"):
        at.selectbox("dpcore.language").set_value(language)
        run(at)
        assert shown(at) is first
        for key, value in (("mode", "paper"), ("variant.paper", LABELS)):
            chosen = widget(at, f"{PAGE}.{key}")
            assert (chosen.value, chosen.proto.set_value) == (value, True)


def test_who_chooses_another_language_loses_nothing():
    at = change(started(PAGE), epsilon=2.0)
    for before, language, word in (("en", "zh", "已记账"), ("zh", "en", "Charged")):
        at.selectbox("dpcore.language").set_value(language)
        with speaking(before):  # the words by which the test, as a browser, knows what is chosen
            run(at)
        assert word in said(at)
        assert widget(at, f"{PAGE}.epsilon").value == 2.0


@pytest.mark.parametrize("forged", ["../../x", "'</script><script>alert(1)"])
def test_a_language_that_is_none_of_ours_is_not_spoken(forged):
    at = started()
    box = at.selectbox(shell.LANGUAGE)
    box.options.append(forged)  # as a browser can send what no page offers
    box.set_value(forged)
    run(at)
    assert "documentElement.lang = 'en'" in "".join(element.proto.body for element in at.get("html"))


@pytest.mark.parametrize("forged", [["zh"], 7, None, ""])
def test_a_language_may_be_anything_in_the_session(forged, monkeypatch):
    monkeypatch.setattr(shell.st, "session_state", {shell.LANGUAGE: forged})
    assert shell.asked_language() == "en"
