"""Tables of a million rows and more: seconds to encode, fit, sample and compare, and the memory that it takes.

    python -m benchmarks.scale                                 1,000,000 rows, in memory
    python -m benchmarks.scale --against FOLDER                the same, and as ratios to the checkout in FOLDER
    python -m benchmarks.scale --rows 10_000_000 --place NEW   in a folder of codes, by its path

The table is made up: PrivBayes refined, fitted to the bundled sample with a seed, draws as many rows of its 15 columns
as are wanted. In memory each figure is the least of `--repeats`, on rows that are encoded already; with `--against`
both checkouts take turns, each time in a process of its own, and the ratio is that of their least. With `--place` the
rows are first drawn and written there as Parquet files of a million rows, then encoded; every step has a process of
its own, whose peak memory is the operating system's.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

import dpcore as dp

CHUNK = 1_000_000
METHODS = {"PrivBayes refined": dp.RefinedPrivBayes, "NB-Synth": dp.NaiveBayesSynthesizer, "DiffPRFs": dp.DiffPRFs}


def schema() -> dp.Schema:
    """The sample's, for any number of rows up to 10^12."""
    return replace(dp.datasets.load("sample").schema, max_rows=10**12)


def made_up(rows: int) -> Iterator[pd.DataFrame]:
    """Rows of the sample's kind, a million at a time."""
    data = dp.datasets.load("sample")
    sampler = dp.RefinedPrivBayes(epsilon=10.0, relation="replace", random_state=0).fit(data.train, schema=data.schema)
    for start in range(0, rows, CHUNK):
        yield sampler.set_params(random_state=start).sample(min(CHUNK, rows - start))


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_memory(rows: int) -> dict[str, float]:
    """Seconds of each step, once."""
    frame, public = pd.concat(made_up(rows), ignore_index=True), schema()
    found = {"encode": seconds(lambda: public.encode(frame))}
    codes, encode = public.encode(frame), dp.Schema.encode
    dp.Schema.encode = lambda self, table: codes if table is frame else encode(self, table)
    for name, kind in METHODS.items():
        method = kind(epsilon=1.0, random_state=0)
        found[f"fit {name}"] = seconds(lambda method=method: method.fit(frame, schema=public))
    method = dp.RefinedPrivBayes(epsilon=1.0, random_state=0).fit(frame, schema=public)
    found["sample"] = seconds(lambda: method.sample(rows))
    other = public.encode(method.sample(rows))
    from dpcore.evaluate.distances import marginal_avd

    found["2-way distances"] = seconds(lambda: marginal_avd(codes, other, public))
    return found


def turns(rows: int, checkouts: list[Path], repeats: int) -> list[dict[str, float]]:
    """The least seconds of each step in each checkout, which take turns."""
    least: list[dict[str, float]] = [{} for _ in checkouts]
    for _ in range(repeats):
        for best, checkout in zip(least, checkouts, strict=True):
            found = of_process(["--rows", str(rows), "--json", "memory"], checkout)
            best |= {step: min(found[step], best.get(step, found[step])) for step in found}
    return least


def of_process(arguments: list[str], checkout: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve())}
    done = subprocess.run(
        [sys.executable, __file__, *arguments], env=environment, check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def write(rows: int, place: Path) -> None:
    (place / "source").mkdir(parents=True)
    for number, frame in enumerate(made_up(rows)):
        frame.to_parquet(place / "source" / f"{number:05}.parquet")


def in_folder(step: str, rows: int, place: Path) -> dict[str, float]:
    """Seconds and peak megabytes of one step."""
    public = schema()
    if step == "write":
        taken = seconds(lambda: write(rows, place))
    elif step == "encode":
        from dpcore.rows.writing import encode

        taken = seconds(lambda: encode(place / "source", place / "codes", schema=public, replace=True))
    elif step == "all pairs":
        from itertools import combinations

        from dpcore.rows import Folder, FolderRows

        folder = FolderRows(Folder.open(place / "codes"))
        taken = seconds(lambda: folder.tables(combinations(range(len(public)), 2)))
    else:
        method = METHODS[step](epsilon=1.0, random_state=0)
        taken = seconds(lambda: method.fit(place / "codes", schema=public))
    return {"seconds": taken, "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--against", type=Path, help="another checkout of this project")
    parser.add_argument("--place", type=Path, help="a new folder, for the rows and their codes")
    parser.add_argument("--json", help=argparse.SUPPRESS)  # a step, in a process of its own
    asked = parser.parse_args()
    here = Path(__file__).resolve().parents[1]
    if asked.json:
        found = in_memory(asked.rows) if asked.json == "memory" else in_folder(asked.json, asked.rows, asked.place)
        print(json.dumps(found))
    elif asked.place:
        for step in ("write", "encode", "all pairs", *METHODS):
            found = of_process(["--rows", str(asked.rows), "--json", step, "--place", str(asked.place)], here)
            print(f"{step:20} {found['seconds']:8.2f} s {found['MB']:8.0f} MB", flush=True)
    else:
        checkouts = [here, *([asked.against] if asked.against else [])]
        least = turns(asked.rows, checkouts, asked.repeats)
        for step, taken in least[0].items():
            ratio = f"   {taken / least[1][step]:.2f} of {least[1][step]:.2f} s" if asked.against else ""
            print(f"{step:22} {taken:6.2f} s{ratio}", flush=True)


if __name__ == "__main__":
    main()
