"""The page Attacks: every part without noise and with it, on the sample whatever data are in use; nothing is spent."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from driving import change, csv, opened, people, press, run, started, tab, using
from screen import books, charts, dataset, elements, mendable, metrics, said, titles, widget
from streamlit.testing.v1 import AppTest

PAGE = "attacks"
EPSILONS = (0.01, 1.0, 10_000.0)
PARTS: dict[str, tuple[str, str, list[str], dict[str, tuple[Any, ...]]]] = {  # its key, charts, and settings to ends
    "Who is alone": (
        "linkage",
        "How many are alone, and so found by name",
        ["How often the outsider is right about people who are alone"],
        {"known": (["age"], ["age", "sex", "education", "native-country"])},
    ),
    "Secrets from counts": (
        "bits",
        "Secrets that noiseless counts give away",
        ["Secrets that noisy counts give away"],
        {"questions": (50, 1_000)},
    ),
    "Who took part": (
        "averages",
        "Who fits the published averages better than others do",
        ["How often the participant is picked out of two", "One study with noise, epsilon 1"],
        {"degree": (1, 2), "people": (25, 200)},
    ),
    "Distance looks safe": (
        "near",
        "How far rows are from the nearest real row",
        ["How far private rows are from the nearest real row"],
        {},
    ),
}


def noisy(at: AppTest, part: str) -> AppTest:
    return change(at, **{f"{part}.step": "noise"})


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_drawn_without_noise_and_with_it_and_spends_nothing(name: str) -> None:
    at = tab(started(PAGE), name)
    part, noiseless, with_noise, ends = PARTS[name]
    assert titles(at) == [noiseless]
    assert "All people here are made up" in said(at)
    for drawn in ([noiseless], with_noise):
        assert titles(at) == drawn
        assert all(len(spec["description"]) > 20 for spec, _ in charts(at))
        assert said(at).count("**To keep:**") == 1
        assert any(f"({year})" in said(at) for year in (2000, 2003, 2008, 2025)) or name == "Who is alone"
        assert at.dataframe  # the numbers behind
        for key, values in ends.items():
            for value in values:
                change(at, **{f"{part}.{key}": value})
                assert len(titles(at)) == len(drawn)
                assert not at.error
        if drawn == [noiseless]:
            at = noisy(tab(started(PAGE), name), part)
    for epsilon in EPSILONS:
        change(at, **{f"{part}.epsilon": epsilon})
        assert len(titles(at)) == len(with_noise)
        assert f"psilon {epsilon:,g}" in said(at)
    kinds = ("slider", "select_slider", "radio", "button_group")
    movable = {one.key for kind in kinds for one in at.get(kind)}
    assert movable == {f"{PAGE}.{part}.{key}" for key in ("step", "epsilon", *ends)}
    assert books(at) == {}


def scale(at: AppTest, channel: str) -> Any:
    """The scale of the first chart's first layer that has one."""
    spec = charts(at)[0][0]
    found = [layer["encoding"][channel] for layer in spec["layer"] if "scale" in layer["encoding"].get(channel, {})]
    return found[0]["scale"]["domain"]


@pytest.mark.parametrize("name", [name for name in PARTS if name != "Distance looks safe"])
def test_epsilon_0_01_and_1_have_the_same_axes_and_other_words(name: str) -> None:
    part = PARTS[name][0]
    at = noisy(tab(started(PAGE), name), part)
    seen = []
    for epsilon in (0.01, 1.0):
        change(at, **{f"{part}.epsilon": epsilon})
        seen.append((scale(at, "x"), scale(at, "y"), dict(metrics(at)), said(at)))
    assert seen[0][:2] == seen[1][:2] == ([0.01, 10_000.0], [0.4, 1.0])
    assert seen[0][2] != seen[1][2] or name == "Secrets from counts"  # where both are a coin
    assert "at most 50.2%" in seen[0][3] or "more than 50.2%" in seen[0][3]
    assert "at most 73.1%" in seen[1][3] or "more than 73.1%" in seen[1][3]


def test_few_noiseless_counts_find_few_secrets_and_as_many_as_people_all() -> None:
    """Groups are other coins than secrets: a group that is whoever has the secret would give all away at once."""
    at = tab(started(PAGE), "Secrets from counts")
    found = []
    for questions in (50, 250, 500):
        change(at, bits__questions=questions)
        found.append(int(dict(metrics(at))["Secrets found"].removesuffix(" of 500")))
    assert 270 <= found[0] < 350
    assert 390 <= found[1] < 450
    assert found[2] == 500
    sizes = [int(text.split()[4]) for text in at.dataframe[0].value["question"]]
    answers = at.dataframe[0].value["noiseless answer"].astype(int).tolist()
    assert all(size / 3 < answer < 2 * size / 3 for size, answer in zip(sizes, answers, strict=True))


def test_lots_change_by_the_button_alone_and_more_columns_find_more_people() -> None:
    at = tab(started(PAGE), "Who is alone")
    few = float(dict(metrics(at))["Found by name"].removesuffix("%"))
    change(at, linkage__known=["age", "sex"])
    assert float(dict(metrics(at))["Found by name"].removesuffix("%")) < few
    change(at, linkage__known=[])
    assert dict(metrics(at))["Found by name"] == "0%"
    noisy(at, "linkage")
    assert "Nobody is alone in these columns" in said(at)
    change(at, linkage__known=["age", "sex", "education", "hours-per-week"])
    first = dict(metrics(at))["Right"], at.dataframe[0].value["published"].tolist()
    assert (dict(metrics(run(at)))["Right"], at.dataframe[0].value["published"].tolist()) == first
    press(at, f"{PAGE}.linkage.redraw")
    assert at.dataframe[0].value["published"].tolist() != first[1]


def test_a_release_passes_the_test_of_distance_and_tells_all_and_a_private_one_does_not() -> None:
    at = tab(started(PAGE), "Distance looks safe")
    assert dict(metrics(at))["Right if in the data"] == "100%"
    assert dict(metrics(at))["Right if not in it"] == "50%"
    assert "this release passes the test" in said(at)
    press(at, f"{PAGE}.near.redraw")
    (named,) = re.findall("released rows: (.*?) columns off", json.dumps(charts(at)[0][0], ensure_ascii=False))[:1]
    noisy(at, "near")
    assert f"rows of the one that leaks are {named} columns away" in said(at)  # the deal of the step before
    assert float(dict(metrics(at))["Right if in the data"].removesuffix("%")) < 80
    assert "at most 46.3 percentage points more often" in said(at)


def test_people_stay_those_of_the_sample_when_somebody_uses_data_of_their_own() -> None:
    at = using("people.csv", csv(people()))
    for name in PARTS:
        tab(opened(at, PAGE), name)
        assert not mendable(at)
        assert "Zq" not in "".join(str(getattr(found, "proto", "")) for found in elements(at))
        assert widget(at, f"{PAGE}.{PARTS[name][0]}.step").value == "noiseless"
    assert dataset(at).name == "people.csv"
    assert books(at) == {}
    at = started()
    whole = at.session_state["dpcore.data"]
    at.session_state["dpcore.data"] = replace(whole, schema=whole.schema.select(["age", "sex"]))
    at = opened(at, PAGE)
    for name in PARTS:
        assert not mendable(tab(at, name))
