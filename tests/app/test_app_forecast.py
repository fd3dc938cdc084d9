"""The forecast beside the settings: asked for once, then it moves with epsilon; it costs nothing and sees no row."""

import pytest
from driving import change, people, press, run
from prepared import data, page
from screen import pictures, said, widget

from dpcore.dashboard import before_run
from dpcore.experiment import forecasts

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
        assert widget(at, "forecast.rows.naive_bayes").placeholder == f"{before_run.USUAL:,}"
        found.append([line for line in said(at).splitlines() if f"of {before_run.USUAL:,}" in line])
    assert found[0] == found[1] != []
