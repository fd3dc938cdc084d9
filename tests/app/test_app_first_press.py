"""The first press of every offer, on a table without a declared bound on its rows: it runs, or says what is missing."""

from typing import Any

import driving
import pytest
from driving import change, people, run
from prepared import choose, data, page
from screen import mendable, widget

from dpcore.dashboard import controls
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateClassifier

UPLOAD = data(people(60), max_rows=None)
PAGES = sorted({kind.page for kind in METHODS.values()})


def start(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(driving, "PAGE", name)
    return page(UPLOAD)


@pytest.mark.parametrize("mode", ["corrected", "paper"])
@pytest.mark.parametrize("name", PAGES)
def test_every_offer_runs_with_its_own_defaults(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other in one session, as somebody looks through them: one's settings are not the next one's."""
    at = start(name, monkeypatch)
    for label, (kind, offer) in controls.offered(name, mode).items():
        choose(at, mode, label)
        method, given, *rows = at.session_state[f"{name}.chosen"]
        assert method == kind
        own = METHODS[kind]().get_params()
        free = ["noise", *(["relation"] if len(METHODS[kind].relations_in(mode)) > 1 else [])]
        assert {one: given[one] for one in free if one in given} == {one: own[one] for one in free if one in given}
        assert not widget(at, f"{name}.run").disabled, (label, mendable(at))
        made = METHODS[kind](**given).fit(UPLOAD.train, schema=UPLOAD.schema)
        assert isinstance(made, PrivateClassifier) or len(made.sample(rows[0])) == rows[0], offer.label


def test_what_somebody_chose_stays_and_the_button_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    at = start("networks", monkeypatch)
    change(at, relation="replace")
    change(at, relation="add_remove")  # chosen now, though it is what was there at first
    choose(at, "corrected", next(one for one in widget(at, "networks.variant.corrected").options if "HMPriv" in one))
    assert widget(at, "networks.relation").value == "add_remove"
    button = widget(at, "networks.run")
    assert button.disabled
    assert "public bound on the number of rows" in button.help.replace("\\", "")
    assert "max_rows" in mendable(at)[0]
    assert not widget(change(at, relation="replace"), "networks.run").disabled


def test_ones_own_table_is_run_by_the_relation_of_each_method(monkeypatch: pytest.MonkeyPatch) -> None:
    at = start("audit", monkeypatch)
    at.session_state["audit.tab"] = "With a row of my own data"
    for name in METHODS:
        widget(run(at), "audit.own.method").set_value(name)
        assert not widget(run(at), "audit.own.run").disabled, (name, mendable(at))
        said = at.session_state["dpcore.settings:audit"]["own"]
        given = {key.split(".")[1]: value for key, value in said.items()}
        METHODS[name](mode=given["mode"], relation=given["relation"]).check(UPLOAD.schema)
