"""What a page of methods says before a run: odds that hold, on which terms, how many rows, and a free forecast."""

import pytest
from driving import change, people, press, released, run, shown
from prepared import data, page
from screen import pictures, said, widget

from dpcore.dashboard import before_run
from dpcore.dashboard.epsilon import odds_in_short
from dpcore.dashboard.panels import verdict
from dpcore.evaluate.verdict import Group, Verdict
from dpcore.experiment import forecasts
from dpcore.export import protection

GO = "forecast.naive_bayes.go"


@pytest.fixture(autouse=True)
def _short(monkeypatch) -> None:
    """Rehearsals on few rows."""
    monkeypatch.setattr(forecasts, "ROWS", 500)
    monkeypatch.setattr(forecasts, "TRIAL_ROWS", 500)


def there(at) -> bool:
    """Whether the page has a forecast: nothing asks for it then."""
    return not any((button.key or "").startswith(GO) for button in at.button)


def waited(at):
    """The page when the work is over."""
    for _ in range(100):
        if there(at):
            return at
        run(at)
    raise AssertionError("The forecast did not come.")


def test_a_forecast_moves_with_epsilon_and_is_of_its_settings() -> None:
    at = page(data(max_rows=400))
    at = waited(press(at, GO))
    first = said(at)
    assert "of 400" in first
    assert pictures(at)
    assert not at.session_state["dpcore.accounts"]  # nothing was asked of any row
    assert said(change(at, epsilon=10.0)) != first
    assert not there(change(at, smoothing=2.0))


def test_the_number_of_rows_is_typed_where_it_is_private_and_never_counted() -> None:
    found = []
    for rows in (people(), people().head(60)):
        at = waited(press(page(data(rows, max_rows=None)), GO))
        assert widget(at, "forecast.rows.naive_bayes").value == before_run.USUAL
        found.append([line for line in said(at).splitlines() if f"of {before_run.USUAL:,}" in line])
    assert found[0] == found[1] != []


PRIVATE = "if you have 10,000 rows"


def test_odds_before_a_run_are_those_after_it() -> None:
    """With a delta, losses are counted in rho, and the log-odds move by more than epsilon."""
    at = page(**{"naive_bayes.delta": 1e-6})
    (odds,) = [line for line in said(at).splitlines() if "in 100" in line]
    assert "but for a probability of 1e-06" in said(at)
    assert "delta 1e-06" in said(at)
    assert "73 in 100" not in odds
    ledger = shown(released(at)).release.ledger
    assert odds_in_short(protection.gained(None, ledger.currency, ledger.totals.bound)) in odds


@pytest.mark.parametrize("void", [{"naive_bayes.seed": 3}, {"given": data(source="inferred")}])
def test_no_odds_stand_where_no_guarantee_can_hold(void) -> None:
    text = said(page(**void))
    assert "No limit" in text
    assert "in 100" not in text


def test_a_bound_on_rows_is_no_number_of_rows() -> None:
    assert PRIVATE in said(page(data(max_rows=1_000_000)))
    assert PRIVATE not in said(page(data(max_rows=1_000_000), **{"naive_bayes.relation": "replace"}))


def test_a_value_of_a_table_is_no_markup_in_a_tile() -> None:
    """Streamlit draws links and pictures in a metric: a browser would ask another computer for them."""
    image = "![x](https://example.org/x.png)"
    worst = Group(image, image, 0.2, 0.3)
    tiles = verdict.verdict_tiles(Verdict(2, 2, 1, 1, (), worst, worst, 1))
    assert not any(image in text for tile in tiles for text in tile)
