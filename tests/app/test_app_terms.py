"""What a page of methods says before a run: odds that hold, on which terms, and for how many rows."""

import pytest
from driving import released, shown
from prepared import data, page
from screen import said

from dpcore.dashboard import controls
from dpcore.dashboard.epsilon import short_odds
from dpcore.dashboard.panels import verdict
from dpcore.evaluate.distances import Center, Fidelity, Group
from dpcore.export import protection

PRIVATE = "with 100 / 1,000 / 10,000 rows"


def test_odds_before_a_run_are_those_after_it() -> None:
    """With a delta, losses are counted in rho, and the log-odds move by more than epsilon."""
    at = page(**{"naive_bayes.delta": 1e-6})
    (odds,) = [line for line in said(at).splitlines() if "in 100" in line]
    assert "except with probability 1e-06" in said(at)
    assert "delta 1e-06" in said(at)
    assert "73 in 100" not in odds
    ledger = shown(released(at)).release.ledger
    assert short_odds(protection.log_odds_gained(None, ledger.measure, ledger.totals.bound)) in odds


@pytest.mark.parametrize("void", [{"naive_bayes.seed": 3}, {"given": data(source="inferred")}])
def test_no_odds_stand_where_no_guarantee_can_hold(void) -> None:
    text = said(page(**void))
    assert "No bound on epsilon" in text
    assert "in 100" not in text


def test_a_bound_on_rows_is_no_number_of_rows() -> None:
    bound, said_so = data(max_rows=1_000_000), "if there are 1,000,000 rows"
    assert (said_so in said(page(bound)), PRIVATE in said(page(data(max_rows=None)))) == (True, True)
    assert "Before you run, " not in said(page(bound, **{"naive_bayes.relation": "replace"}))


def test_a_value_of_a_table_is_no_markup_in_a_tile() -> None:
    """Streamlit draws links and pictures in a metric: a browser would ask another computer for them."""
    image = "![x](https://example.org/x.png)"
    worst = Group(image, image, 0.2, 0.3)
    far = [Center(image, "1.5", "4,700", "4,700", 0.81, True)]
    words = verdict.describe_centers(far)
    assert "4,700 in the release, and 81% of the real rows" in words
    tiles = verdict.verdict_tiles(Fidelity(2, 2, 1, 1, (), worst, worst, 1))
    assert not any(image in text for tile in [*tiles, [words, verdict.column_names(far)]] for text in tile)


def test_as_many_rows_are_made_as_the_release_says(monkeypatch: pytest.MonkeyPatch) -> None:
    at = released(page(data(max_rows=None)))
    made = shown(at).release
    assert (len(made.synthetic), "rows" in made.config()) == (max(round(made.rows), 1), False)
    monkeypatch.setattr(controls, "MOST_ROWS", 7)
    point = shown(released(at)).release
    assert (len(point.synthetic), point.config()["rows"]) == (7, 7)
    assert "7 rows were made" in said(at)
