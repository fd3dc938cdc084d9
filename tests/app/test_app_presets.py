"""Settings from links and files: they restore a page, are input like any other, and hold no data."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from threading import Thread, current_thread
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st
from driving import PAGE, change, linked, opened, press, released, run, shown, started, tab
from prepared import FAMILIES, at_once, page, with_release
from screen import books, errors, mendable, sums, words
from streamlit.testing.v1 import AppTest

from dpcore.dashboard import controls, jobs, links
from dpcore.errors import DataError
from dpcore.export import archive
from dpcore.export.model_file import Model


def settings(at: AppTest, name: str = PAGE) -> dict[str, Any]:
    parts = at.session_state[f"dpcore.settings:{name}"]
    return {name: value for part in parts.values() for name, value in part.items() if value is not None}


def test_a_link_sets_controls_and_spends_nothing() -> None:
    at = linked(PAGE, epsilon="0.5", mode="paper", relation="replace", seed="7")
    found = settings(at)
    assert (found["epsilon"], found["mode"], found["relation"], found["seed"]) == (0.5, "paper", "replace", 7)
    assert shown(at) is None
    assert not at.session_state.get("dpcore.accounts", {})
    change(at, epsilon=2.0)  # afterwards the controls are a person's own
    assert settings(at)["epsilon"] == 2.0
    assert not at.query_params


def test_all_settings_go_through_the_link_on_the_tab_take_home() -> None:
    at = at_once(page(), epsilon=0.3, relation="replace", smoothing=2.5, rows=1234, seed=3)
    tab(released(at), "home")
    (address,) = [found.value for found in at.code if "?" in found.value and "\n" not in found.value]
    assert urlsplit(address).path.endswith(f"/{PAGE}")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert (asked["epsilon"], asked["mode"], asked["rows:data"]) == ("0.3", "corrected", "1234")
    assert "target:data" not in asked  # the schema's own
    assert not any(name in address for name in sums(at))
    again = settings(linked(PAGE, **asked))
    assert again.pop("target:data") == "income"  # of other data
    assert again == {name: value for name, value in settings(at).items() if name != "target:data"}


def test_a_link_is_input(monkeypatch) -> None:
    """What is left out, value by value, is in test_app_bad_links.py."""
    usual, again, most = settings(started(PAGE)), st.rerun, iter(range(30))

    def rerun(*given: Any, **how: Any) -> NoReturn:
        assert next(most, None) is not None, "drawn anew without end"  # and not only when the test's time is over
        again(*given, **how)

    monkeypatch.setattr(st, "rerun", rerun)
    wrong = {"mode": "<script>alert(1)</script>", "relation": "17", "seed": '"x"', "rows:data": "0", "": "2"}
    wrong |= {"target:data": "nothing", "run": "true", "tab": "nowhere", "chosen": "1", "redraws.go": "true"}
    for asked in (wrong, {"tab": "nowhere"}, {"run": "true"}, {"run": '"yes"'}, {"smoothing": "[1, 2]"}):
        at = linked(PAGE, **asked)
        assert shown(at) is None, asked
        assert not errors(at), asked
        assert settings(at) == usual, asked
        assert "alert(1)" not in words(at)
    press(at, f"{PAGE}.run")
    assert shown(at).release.ledger.epsilon_bound == usual["epsilon"]
    at = linked("audit", tab="x")  # which no page can take
    for name in ("home", "audit"):
        opened(at, name)


def packed(how: int) -> bytes:
    """A zip whose content is damaged."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        archive.writestr("config.json", json.dumps({"page": list(range(500))}))
    raw = bytearray(buffer.getvalue())
    raw[60:160] = b"\xff" * 100
    return bytes(raw)


def test_a_file_restores_a_page() -> None:
    made = shown(released(page(), epsilon=0.5, relation="replace"))
    config = json.loads(json.dumps(made.release.config()))
    assert config["page"]["name"] == PAGE
    assert not any(name in json.dumps(config["page"]) for name in sums(page()))
    raw, buffer = json.dumps(config).encode(), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("config.json", raw)
    for content in (raw, buffer.getvalue()):
        at = started()
        at.file_uploader("home.settings").set_value(("config.json", content, "application/json"))
        press(run(at), "home.restore")
        assert at.session_state["dpcore.page"] == PAGE
        assert (settings(at)["epsilon"], settings(at)["relation"]) == (0.5, "replace")
        assert shown(at) is None


def test_files_are_read_once_as_work_that_waits_its_turn(monkeypatch) -> None:
    """Of settings, and of a model: a zip of a million entries would be read on every run of the page."""
    who: list[Thread] = []

    def watched(read: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: (who.append(current_thread()), read(*given))[1]

    for place, name in ((archive, "settings_of_release"), (Model, "from_json")):
        monkeypatch.setattr(place, name, watched(getattr(place, name)))
    for at, key in ((started(), "home.settings"), (started("forests"), "forests.model_file")):
        at.file_uploader(key).set_value(("some.json", b"{", "application/json"))
        (told,) = mendable(run(at))
        assert mendable(run(at)) == [told]
    assert [type(thread) for thread in who] == [jobs.Job, jobs.Job]


def test_a_file_that_holds_no_settings() -> None:
    for raw in (
        b"\xff\xfe",
        b"[]",
        b"[" * 100_000,
        b'{"page": {"name": "naive_bayes", "settings": []}, "data": {"name": "x"}}',
        b'{"page": {"name": "naive_bayes", "settings": {"epsilon": [1]}}, "data": {"name": "x"}}',
        b'{"page": {"name": 3, "settings": {}}, "data": {"name": "x"}}',
        b" " * 1_000_001,
        packed(zipfile.ZIP_BZIP2),
    ):
        with pytest.raises(DataError):
            links.asked_by_file(raw)


def test_what_was_asked_for_where_somebody_left_never_runs() -> None:
    at = page()
    at.session_state["dpcore.requests"] = {PAGE: "run"}  # pressed, and then the menu was quicker
    opened(opened(at, "home"), PAGE)
    assert shown(at) is None
    assert books(at) == {}
    at = with_release("columns")
    at.session_state["dpcore.requests"] = {f"{PAGE}.redraws": "go"}  # pressed, and then another tab was quicker
    tab(run(at), "redraws")
    assert shown(at).redraws is None
    assert books(at) == {}


def test_a_link_may_call_a_variant_as_it_was_called_and_write_a_whole_number_with_a_point() -> None:
    renamed = linked("taxonomy", **{"mode": "paper", "variant.paper": "All levels counted, paid once (reconstructed)"})
    assert renamed.session_state["taxonomy.chosen"][1]["measure"] == "all"
    variant = {"variant.corrected": "DiffGen: one value at a time", "rounds_ruled": "false"}
    _, given, _ = linked("taxonomy", **variant, rounds="5.0", seed="7.0").session_state["taxonomy.chosen"]
    assert [(type(given[name]), given[name]) for name in ("rounds", "random_state")] == [(int, 5), (int, 7)]


def test_variants_have_the_names_that_links_and_files_know() -> None:
    """A label that changes says its old one (`formerly`): `offers.json` is not to be made anew for it."""
    offers = {
        (name, mode): {
            known: [kind, dict(offer.given)]
            for label, (kind, offer) in controls.offered(name, mode).items()
            for known in filter(None, (label, offer.formerly))
        }
        for name in FAMILIES
        for mode in ("corrected", "paper")
    }
    known = json.loads((Path(__file__).parent / "offers.json").read_text(encoding="utf-8"))
    for name, modes in known.items():
        for mode, labels in modes.items():
            assert {label: offers[name, mode].get(label) for label in labels} == labels
    assert sum(map(len, offers.values())) >= 30
