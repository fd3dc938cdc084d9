"""Make the bundled sample: a private release of UCI Adult by this project's own method.

    DPCORE_DATA=... python -m scripts.make_sample

Method    PrivBayes refined, epsilon 1 under add_remove. Its constants were chosen from releases of
          Adult, which is public; the ledger does not count that.
Noise     Exactly sampled, from the operating system's entropy. There is no seed, so another run
          makes another sample and spends another epsilon; the one in `dpcore/datasets/files` was
          made once, with OpenDP's samplers.
Schema    Adult's declared schema, with split points that give its well-known frequent values (no
          capital gain, the 40-hour week) bins of their own. The split points were chosen from
          general knowledge, not from the rows.
Writes    dpcore/datasets/files/sample.parquet, sample.schema.json, sample.ledger.json
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import dpcore as dp

ROWS = 20_000
SPLIT_POINTS: dict[str, tuple[float, ...]] = {
    "capital-gain": (1, 2_500, 5_000, 7_500, 10_000, 20_000, 50_000),
    "capital-loss": (1, 1_000, 1_500, 1_750, 2_000, 2_500),
    "hours-per-week": (10, 20, 30, 35, 40, 41, 45, 50, 60, 80),
}
FOLDER = Path(__file__).parents[1] / "dpcore" / "datasets" / "files"


def main() -> None:
    """Fit the method on Adult, and write the sample, its schema and its ledger."""
    adult = dp.datasets.load("adult")
    columns = tuple(replace(c, bins=SPLIT_POINTS.get(c.name, c.bins)) for c in adult.schema)
    schema = replace(adult.schema, columns=columns)
    method = dp.RefinedPrivBayes(epsilon=1.0)
    method.fit(adult.train, schema=schema)
    FOLDER.mkdir(exist_ok=True)
    method.sample(ROWS).to_parquet(FOLDER / "sample.parquet", index=False)
    (FOLDER / "sample.schema.json").write_text(replace(schema, max_rows=ROWS).to_json() + "\n", encoding="utf-8")
    (FOLDER / "sample.ledger.json").write_text(method.ledger_.to_json() + "\n", encoding="utf-8")
    print(method.ledger_, "->", FOLDER)


if __name__ == "__main__":
    main()
