"""The page Audit: attacks on invented tables and on one's own, and verdicts."""

import re
from dataclasses import replace

import prepared
import pytest
from driving import change, press, started, tab
from screen import books, charts, dataset, errors, marked, mendable, pictures, said, words

from dpcore.audit import cases

PAGE = "audit"
CAUGHT, NOT_CAUGHT, NO_CLAIM = ":material/gavel:", ":material/help:", ":material/info:"
original = cases.run


@pytest.fixture(autouse=True)
def same_lots(monkeypatch) -> None:
    """Attacks draw the same noise each time."""
    monkeypatch.setattr(cases, "run", lambda *args, **kwargs: original(*args, **{"seed": 11} | kwargs))


def test_a_flaw_is_caught_and_the_result_is_kept_by_its_case_and_epsilon() -> None:
    at = press(change(started(PAGE), trials=300), f"{PAGE}.run")
    verdict = said(at)
    assert CAUGHT in verdict
    assert len(pictures(at)) == 3
    assert not any(marked(at))
    (shown, *_) = pictures(at)
    for text in ("of 150 runs", "claimed: at most 2.72 times", "95% sure: at least"):  # the proof in one picture
        assert any(text in frame.to_csv() for frame in charts(at)[0][1])
    for other, own in (
        ({"mode": "corrected"}, {"mode": "published", "trials": 300}),
        ({"epsilon": 2.0}, {"epsilon": 1.0}),
    ):
        assert pictures(change(at, **other)) == []
        assert pictures(change(at, **own))[0] == shown
    assert books(at) == {}


def test_verdicts_say_what_an_attack_proves(monkeypatch) -> None:
    at = started(PAGE)

    def verdict(**settings: str) -> str:
        """The icon of a verdict after few runs."""
        press(change(at, **settings, trials=20), f"{PAGE}.run")
        (heading,) = re.findall(r"## :\w+\[(:material/\w+:)", said(at))
        return heading

    assert verdict(method="NB-Synth", mode="corrected") == NOT_CAUGHT
    assert verdict(method="HMPrivBayes", mode="published", case="HMPrivBayes/published/pairs") == NOT_CAUGHT
    assert "epsilon 6" in said(at)  # what can be proved for these neighbors
    assert verdict(method="NoPrivacy") == NO_CLAIM

    def unlucky(case, *args, **kwargs):
        found = original(case, *args, **kwargs)
        return replace(found, result=replace(found.result, lower_bound=1.2))

    monkeypatch.setattr(cases, "run", unlucky)
    assert verdict(method="NB-Synth", mode="corrected") == CAUGHT
    assert "5 in 100" in said(at)  # false alarms


def test_an_own_row_is_marked_and_not_charged_and_its_values_stay_in_their_table() -> None:
    at = change(tab(prepared.page(), "own"), own__epsilon=1.0, own__trials=20)
    assert not pictures(at)
    assert "40" in said(at)  # what all runs could cost together: 2 for each
    change(at, own__row=5, own__relation="replace", own__other=2)
    press(at, f"{PAGE}.own.run")
    assert not mendable(at), errors(at)
    assert marked(at) == [True] * 3
    assert "epsilon 60" in said(at)
    assert at.table[0].value["World A"].to_list()[1] == dataset(at).train["town"].iloc[4]
    assert "Zq" not in words(at) + str(charts(at))
    assert pictures(change(at, own__epsilon=2.0)) == []
    assert len(pictures(change(at, own__epsilon=1.0))) == 3
    assert books(at) == {}
