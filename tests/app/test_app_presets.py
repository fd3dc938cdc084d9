"""Settings from links and files: they restore a page, are input like any other, and hold no data."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import driving
import pytest
from driving import OTHERS, PAGE, change, linked, opened, press, released, run, shown, started, tab
from prepared import FAMILIES, at_once, offered, option, page
from screen import books, sums, widget
from streamlit.testing.v1 import AppTest

from dpcore.dashboard import controls, links
from dpcore.domain.former_names import LABELS, renamed_parameters, renamed_settings
from dpcore.errors import DataError


def settings(at: AppTest, name: str = PAGE) -> dict[str, Any]:
    parts = at.session_state[f"dpcore.settings:{name}"]
    return {name: value for part in parts.values() for name, value in part.items() if value is not None}


def test_a_link_sets_controls_and_spends_nothing() -> None:
    at = linked(PAGE, epsilon="0.5", mode="published", relation="replace", seed="7")
    found = settings(at)
    assert (found["epsilon"], found["relation"], found["seed"]) == (0.5, "replace", 7)
    assert found["method"] == option("published", next(iter(offered(PAGE, "published"))))
    assert shown(at) is None
    assert not at.session_state.get("dpcore.accounts", {})
    change(at, epsilon=2.0)  # afterwards the controls are a person's own
    assert settings(at)["epsilon"] == 2.0
    assert not at.query_params


def test_all_settings_go_through_the_link_on_the_tab_take_home() -> None:
    at = at_once(page(), epsilon=0.3, relation="replace", smoothing=2.5, rows=1234, seed=3)
    tab(released(at), "download")
    (address,) = [found.value for found in at.code if "?" in found.value and "\n" not in found.value]
    wanted = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert (wanted["epsilon"], wanted["rows:data"]) == ("0.3", "1234")
    assert not any(name in address for name in sums(at))
    again = settings(linked(PAGE, **wanted))
    assert again.pop("target:data") == "income"  # of other data
    assert again == {name: value for name, value in settings(at).items() if name != "target:data"}


def test_a_file_restores_a_page() -> None:
    made = shown(released(page(), epsilon=0.5, relation="replace"))
    config = json.loads(json.dumps(made.release.config()))
    assert config["page"]["name"] == PAGE
    assert not any(name in json.dumps(config["page"]) for name in sums(page()))
    at = started()
    at.file_uploader("home.settings").set_value(("config.json", json.dumps(config).encode(), "application/json"))
    press(run(at), "home.restore")
    assert at.session_state["dpcore.page"] == PAGE
    assert (settings(at)["epsilon"], settings(at)["relation"]) == (0.5, "replace")
    assert shown(at) is None


def test_a_file_that_holds_no_settings() -> None:
    for raw in (
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"page": {"name": "naive_bayes", "settings": []}, "data": {"name": "x"}}',
        b'{"page": {"name": "naive_bayes", "settings": {"epsilon": [1]}}, "data": {"name": "x"}}',
        b'{"page": {"name": 3, "settings": {}}, "data": {"name": "x"}}',
        b" " * 1_000_001,
    ):
        with pytest.raises(DataError):
            links.settings_of_file(raw)


def test_what_was_asked_for_where_somebody_left_never_runs() -> None:
    at = page()
    at.session_state["dpcore.requests"] = {PAGE: "run"}  # pressed, and then the menu was quicker
    opened(opened(at, "home"), PAGE)
    assert shown(at) is None
    assert books(at) == {}


def test_variants_that_links_and_files_name_are_there_or_have_a_current_name() -> None:
    """A label that changes goes into `former_names`: `offers.json` is not to be made anew for it."""
    known = json.loads((Path(__file__).parent / "offers.json").read_text(encoding="utf-8"))
    for family, modes in known.items():
        for mode, labels in modes.items():
            for label, (kind, parameters) in labels.items():
                method = renamed_settings({"mode": mode, f"variant.{mode}": label})["method"]
                current, preset = controls.presets_of(family)[method]
                known = LABELS.get(kind, kind), renamed_parameters(parameters, preset.parameters)
                assert (current, preset.parameters) == known


# What no control can say is left out and named, and no page is lost to it

BAD = ["null", "", "[]", "{}", "1e999", "-1", "x" * 1_000, "true", "NaN"]
OURS = ["run", "run:0", "tab", "chosen", "lacks", "icons", "own", "taxonomies", "editor.fanout", "", "x" * 999]
LINKED = [*FAMILIES, "attacks", "audit"]


def names_on(at: AppTest, name: str) -> set[str]:
    """The controls that a page has drawn, as links call them."""
    return {each for part in at.session_state.get(f"dpcore.settings:{name}", {}).values() for each in part}


def left_out(at: AppTest) -> str:
    """What the page says that it left out."""
    return " ".join(found.value for found in at.warning if found.icon == ":material/link_off:")


def asking(at: AppTest, **settings: str) -> AppTest:
    """Somebody who opens a link to the page that is open."""
    for name, value in settings.items():
        at.query_params[name] = value
    return run(at)


@pytest.mark.parametrize("name", LINKED)
def test_no_link_takes_a_page_away(name: str, monkeypatch) -> None:
    """Every control of every part is asked for every bad value; each run is the one after the last value, too."""
    monkeypatch.setattr(driving, "PAGE", name)
    at = page()
    parts, names = OTHERS[name].split() if name in ("audit", "attacks") else [""], names_on(at, name)
    for mode in ("published", "corrected") if name in FAMILIES else ():
        names |= names_on(change(at, method=option(mode, next(iter(offered(name, mode))))), name)
    for part in parts:
        names |= names_on(tab(at, part) if part else at, name)
        usual = dict(at.session_state.get(f"dpcore.settings:{name}", {}))
        for shift in range(0, len(BAD), 1 if len(parts) == 1 else 3):
            values = {each: BAD[(i + shift) % len(BAD)] for i, each in enumerate([*sorted(names), *OURS])}
            asking(at, **values)
            assert not at.error, (part, shift)
            assert not names or left_out(at)
        assert at.session_state.get(f"dpcore.settings:{name}", {}).keys() == usual.keys()
    assert shown(at) is None
    assert books(at) == {}
    opened(opened(at, "home"), name)


def test_what_is_left_out_is_named_and_the_rest_is_taken() -> None:
    at = asking(page(), seed="7", **{"epsilon": "1e999", "target:data": "nothing", "rows:data": "-1"})
    text = left_out(at)
    assert all(widget(at, f"{PAGE}.{each}").label in text for each in ("epsilon", "target"))
    assert "nothing" not in text
    assert at.session_state[f"{PAGE}.chosen"][1]["random_state"] == 7
    assert not left_out(run(at))  # and not again
