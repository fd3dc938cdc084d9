"""Settings from links and files: they restore a page, are input like any other, and hold no data."""

import io
import json
import zipfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from driving import (
    PAGE,
    ROOT,
    TIMEOUT,
    books,
    change,
    errors,
    opened,
    press,
    released,
    run,
    shown,
    started,
    sums,
    tab,
    widget,
    words,
)
from streamlit.testing.v1 import AppTest

from dpcore.dashboard import controls, links
from dpcore.errors import DataError

PAPER = "Algorithm 2: random rows, labels by the exponential mechanism"


def linked(page: str, **asked: str) -> AppTest:
    """Somebody who opens a link."""
    at = AppTest.from_file(ROOT / "app.py", default_timeout=TIMEOUT)
    run(at)
    for name, value in asked.items():
        at.query_params[name] = value
    return run(at.switch_page(f"pages/{page}.py"))


def said_by(at: AppTest, page: str = PAGE) -> dict:
    parts = at.session_state[f"dpcore.settings:{page}"]
    return {name: value for part in parts.values() for name, value in part.items()}


def test_a_link_sets_controls_and_spends_nothing() -> None:
    at = linked(PAGE, epsilon="0.5", mode="paper", relation="replace", seed="7")
    found = said_by(at)
    assert (found["epsilon"], found["mode"], found["relation"], found["seed"]) == (0.5, "paper", "replace", 7)
    assert shown(at) is None
    assert not at.session_state.get("dpcore.accounts", {})
    change(at, epsilon=2.0)  # afterwards the controls are a person's own
    assert said_by(at)["epsilon"] == 2.0
    assert not at.query_params


def test_all_settings_go_through_a_link() -> None:
    first = change(started(PAGE), epsilon=0.3, relation="replace", smoothing=2.5, seed=3)
    with_rows = widget(first, f"{PAGE}.rows")
    with_rows.set_value(1234)
    run(first)
    settings = said_by(first)
    assert settings["rows:data"] == 1234
    address = presets_link(settings)
    assert not any(name in address for name in sums(first))
    again = linked(PAGE, **{k: v[0] for k, v in parse_qs(urlsplit(address).query, keep_blank_values=True).items()})
    assert {k: v for k, v in said_by(again).items() if v is not None} == {
        k: v for k, v in settings.items() if v is not None
    }


def presets_link(settings: dict) -> str:
    shown = {name: links.as_text(value) for name, value in settings.items() if value is not None}
    return "http://127.0.0.1/naive_bayes?" + links.urlencode(shown)


def test_the_tab_take_home_has_the_link() -> None:
    at = released(epsilon=0.5, seed=3)
    at.session_state[f"{PAGE}.tab"] = "Take home"
    (address,) = [block.value for block in run(at).code if "?" in block.value and block.value.count("\n") == 0]
    path, _, query = address.partition("?")
    assert path.endswith(f"/{PAGE}")
    asked = {name: values[0] for name, values in parse_qs(query).items()}
    assert (asked["epsilon"], asked["mode"], asked["seed"]) == ("0.5", "corrected", "3")
    assert "target:data" not in asked  # the schema's own
    assert not any(name in address for name in sums(at))
    assert said_by(linked(PAGE, **asked)) == said_by(at)


@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": "99"},
        {"epsilon": "much"},
        {"mode": "<script>alert(1)</script>"},
        {"relation": "17"},
        {"seed": '"x"'},
        {"seed": "-4"},
        {"smoothing": "1e9"},
        {"smoothing": "[1, 2]"},
        {"rows:data": "0"},
        {"target:data": "nothing"},
        {"run": "true"},
        {"run": '"yes"'},
        {"tab": "nowhere"},
        {"chosen": "1"},
        {"nonsense": "1", "": "2"},
        {"redraws.go": "true"},
    ],
)
def test_a_link_is_input(asked: dict[str, str]) -> None:
    at = linked(PAGE, **asked)
    assert shown(at) is None
    assert not errors(at)
    assert said_by(at)["epsilon"] == 1.0
    press(at, f"{PAGE}.run")
    assert shown(at).release.ledger.epsilon_bound == 1.0
    assert "alert(1)" not in words(at)


def packed(how: int) -> bytes:
    """A zip whose content is damaged."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        archive.writestr("config.json", json.dumps({"page": list(range(500))}))
    raw = bytearray(buffer.getvalue())
    raw[60:160] = b"\xff" * 100
    return bytes(raw)


def config_of(at: AppTest) -> dict:
    return shown(at).release.config()


def test_a_release_remembers_its_page_s_controls() -> None:
    at = released(epsilon=0.5, relation="replace")
    found = json.loads(json.dumps(config_of(at)))["page"]
    assert found["name"] == PAGE
    assert (found["settings"]["epsilon"], found["settings"]["relation"]) == (0.5, "replace")
    assert not any(name in json.dumps(found) for name in sums(at))


@pytest.mark.parametrize("zipped", [False, True])
def test_a_file_restores_a_page(zipped: bool) -> None:
    raw = json.dumps(config_of(released(epsilon=0.5, mode="paper"))).encode()
    if zipped:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("config.json", raw)
        raw = buffer.getvalue()
    at = started()
    at.file_uploader("home.settings").set_value(("config.json", raw, "application/json"))
    run(at)
    press(at, "home.restore")
    assert at.title[0].value == "Naive Bayes"
    assert (said_by(at)["epsilon"], said_by(at)["mode"]) == (0.5, "paper")
    assert shown(at) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"page": {"name": "naive_bayes", "settings": []}, "data": {"name": "x"}}',
        b'{"page": {"name": "naive_bayes", "settings": {"epsilon": [1]}}, "data": {"name": "x"}}',
        b'{"page": {"name": 3, "settings": {}}, "data": {"name": "x"}}',
        b'{"page": "x", "data": {"name": "x"}}',
        b" " * 1_000_001,
        b"PK\x05\x06" + b"\0" * 18,
        packed(zipfile.ZIP_DEFLATED),
        packed(zipfile.ZIP_BZIP2),
    ],
)
def test_a_file_that_holds_no_settings(raw: bytes) -> None:
    with pytest.raises(DataError, match=r"Choose the zip"):
        links.asked_by_file(raw)


def test_a_link_that_no_page_can_take_is_told_once() -> None:
    at = linked("audit", tab="x")
    assert not at.exception
    for page in ("home", "audit"):
        at = opened(at, page)
        assert not at.exception


def test_what_was_asked_for_on_a_page_that_was_left_never_runs() -> None:
    at = started(PAGE)
    at.session_state["dpcore.request:naive_bayes"] = ("run", False)  # pressed, and then the menu was quicker
    opened(opened(at, "home"), PAGE)
    assert shown(at) is None
    assert not at.session_state.get("dpcore.accounts", {})


def test_what_was_asked_for_in_a_tab_that_was_left_never_runs() -> None:
    at = released(started(PAGE))
    spent = books(at)
    at.session_state["dpcore.request:naive_bayes.redraws"] = ("run", True)  # pressed, and then another tab was quicker
    tab(at, "Columns")
    tab(at, "Draw again")
    assert shown(at).redraws is None
    assert books(at) == spent


@pytest.mark.parametrize("page", ["networks", "taxonomy", "forests", "responses"])
def test_every_page_of_a_method_takes_a_link(page: str) -> None:
    at = linked(page, mode="paper", what="Learn from reports")
    assert said_by(at, page)["mode"] == "paper"
    again = opened(opened(at, "home"), page)
    assert said_by(again, page)["mode"] == "paper"
    assert not again.exception


def test_a_whole_number_in_a_link_may_have_a_point() -> None:
    at = linked(
        "taxonomy",
        **{
            "variant.corrected": "DiffGen: one value at a time",
            "rounds_ruled": "false",
            "rounds": "5.0",
            "seed": "7.0",
        },
    )
    _, given, _ = at.session_state["taxonomy.chosen"]
    assert [(type(given[name]), given[name]) for name in ("rounds", "random_state")] == [(int, 5), (int, 7)]


def test_variants_have_the_names_that_links_and_files_know() -> None:
    """A label that changes needs its old one translated: `offers.json` is not to be made anew for it."""
    offers = {
        page: {
            mode: {label: [name, dict(offer.given)] for label, (name, offer) in controls.offered(page, mode).items()}
            for mode in ("corrected", "paper")
        }
        for page in ("naive_bayes", "networks", "taxonomy", "forests", "responses")
    }
    known = json.loads((Path(__file__).parent / "offers.json").read_text(encoding="utf-8"))
    for page, modes in known.items():
        for mode, labels in modes.items():
            assert {label: offers[page][mode].get(label) for label in labels} == labels
    assert sum(len(labels) for modes in offers.values() for labels in modes.values()) >= 30
