"""Tables with a column of dates, one of money and one of a declared number of decimals."""

import numpy as np
import pandas as pd
import pytest

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.export.model_file import Model
from dpcore.export.release import make_release
from dpcore.methods import METHODS
from dpcore.postprocess.forest_frames import side_of

SCHEMA = Schema(
    columns=(
        Column(name="visit", kind="date", lower="2019-01-01", upper="2021-12-31", bins="quarter", missing=True),
        Column(name="bill", kind="continuous", lower=0, upper=2_000, bins=8, number_format="$1,234.50"),
        Column(name="weight", kind="continuous", lower=0, upper=120, bins=8, number_format="1234.5"),
        Column(name="died", kind="categorical", categories=("no", "yes")),
    ),
    target="died",
)


def visits(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    day = np.array([f"{year}-{month:02}-15" for year in (2019, 2020, 2021) for month in range(1, 13)])
    month = rng.integers(0, 36, rows)
    late = month >= 18
    return pd.DataFrame(
        {
            "visit": pd.Series(day[month]).mask(rng.random(rows) < 0.05),
            "bill": [f"${bill:,.2f}" for bill in np.where(late, 1_500, 300) + 100 * rng.random(rows)],
            "weight": np.round(60 + 20 * rng.standard_normal(rows).clip(-2, 2), 1),
            "died": np.where(rng.random(rows) < np.where(late, 0.9, 0.1), "yes", "no"),
        }
    )


@pytest.mark.parametrize("name", ["NB-Synth", "PrivBayes", "TaxonomyRelease"])
def test_samples_have_dates_and_money_as_they_were_written(name):
    made = METHODS[name](epsilon=20.0, random_state=1).fit(visits(200, 0), schema=SCHEMA).sample(50)
    assert made["visit"].dropna().str.fullmatch(r"20(19|20|21)-[0-9]{2}-[0-9]{2}").all()
    assert made["bill"].str.fullmatch(r"\$[0-9,]+[.][0-9]{2}").all()
    np.testing.assert_array_equal(np.round(made["weight"], 1), made["weight"])
    assert SCHEMA.encode(made).shape == (50, 4)


@pytest.mark.parametrize("name", ["DiffPRFs", "SuLQ-ID3", "DiffGen tree", "PPNB", "DTPD", "DTCRD"])
def test_a_model_file_predicts_from_texts_as_they_are_read(name):
    method = METHODS[name](epsilon=20.0, random_state=1).fit(visits(200, 0), schema=SCHEMA)
    test = visits(50, 1)
    model = make_release(method, name, data_name="visits").model
    again = Model.from_json(model.to_json()).predictions(test.astype("str").where(test.notna()))
    assert again.iloc[:, -2].tolist() == list(method.predict(test))


@pytest.mark.parametrize("name", ["DiffPRFs", "SuLQ-ID3"])
def test_a_tree_s_cut_is_a_date(name):
    method = METHODS[name](epsilon=1e4, random_state=0).fit(visits(600, 0), schema=SCHEMA.select(["visit", "died"]))
    forest = method.forest_
    texts = [side_of(forest, place)[1] for place in range(len(forest.parent)) if forest.parent[place] >= 0]
    assert all(text.startswith("visit") for text in texts)
    assert any("2020-0" in text or "2020 Q" in text for text in texts), texts
