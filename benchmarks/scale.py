"""Measure data sets of a million rows and more: seconds and memory to encode, fit and sample.

    python -m benchmarks.scale                                 1,000,000 rows, in memory
    python -m benchmarks.scale --against FOLDER                the same, as ratios to the checkout
                                                               in FOLDER
    python -m benchmarks.scale --rows 10_000_000 --place NEW   in a folder of codes, by its path

The rows are synthetic: PrivBayes refined, fitted to the bundled sample with a seed, samples the
wanted number of rows with its 15 columns. In memory each time is the least of `--repeats`, on
encoded rows. With `--against` both checkouts take turns, each time in a new process, and the ratio
is that of their least times. With `--place` the rows are first written as one Parquet file, then
encoded; only DiffPRFs keeps numbers. "distances" are the 2-way distances of a million other rows,
in memory as codes, from the whole folder; their peak of memory includes sampling these rows. Every
step has a process of its own, and `--steps` selects some. Seconds are of the clock and of
processors, with those of helping processes. The peak of memory is the operating system's for the
largest process.
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
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from joblib.externals.loky import get_reusable_executor

import dpcore as dp

CHUNK = 1_000_000
METHODS = {"PrivBayes refined": dp.RefinedPrivBayes, "NB-Synth": dp.NaiveBayesSynthesizer, "DiffPRFs": dp.DiffPRFs}


STEPS = ("sample", "encode", "encode with numbers", "all pairs", "distances", *METHODS)
USAGE_OF = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def schema() -> dp.Schema:
    """Return the sample's schema with a row bound of 10^12."""
    return replace(dp.datasets.load("sample").schema, max_rows=10**12)


def sampler() -> dp.RefinedPrivBayes:
    """Return a fitted method that samples rows like the bundled sample's."""
    data = dp.datasets.load("sample")
    return dp.RefinedPrivBayes(epsilon=10.0, relation="replace", random_state=0).fit(data.train, schema=data.schema)


def made_up(rows: int) -> Iterator[pd.DataFrame]:
    """Yield synthetic rows, a million at a time."""
    method = sampler()
    for start in range(0, rows, CHUNK):
        yield method.set_params(random_state=start).sample(min(CHUNK, rows - start))


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the clock's and the processors' seconds of a call."""
    start, before = time.perf_counter(), processor_seconds()
    work()
    return time.perf_counter() - start, processor_seconds() - before


def processor_seconds() -> float:
    """Return the processor seconds so far, with those of ended helping processes."""
    get_reusable_executor().shutdown()
    used = [resource.getrusage(who) for who in USAGE_OF]
    return sum(found.ru_utime + found.ru_stime for found in used)


def in_memory(rows: int) -> dict[str, tuple[float, float]]:
    """Return the seconds of each step in memory, once."""
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


def turns(rows: int, checkouts: list[Path], repeats: int) -> list[dict[str, list[float]]]:
    """Return the least seconds of each step in each checkout; the checkouts take turns."""
    least: list[dict[str, list[float]]] = [{} for _ in checkouts]
    for _ in range(repeats):
        for best, checkout in zip(least, checkouts, strict=True):
            found = of_process(["--rows", str(rows), "--json", "memory"], checkout)
            best |= {step: [*map(min, found[step], best.get(step, found[step]))] for step in found}
    return least


def of_process(arguments: list[str], checkout: Path) -> dict[str, Any]:
    """Return the JSON that a new process prints in a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve())}
    done = subprocess.run(
        [sys.executable, __file__, *arguments], env=environment, check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def work(step: str, rows: int, folder: Path) -> Callable[[], object]:
    """Return the measured function of a step, after loading its modules."""
    from itertools import combinations

    from dpcore.rows import Folder, FolderRows, writing

    public, source = schema(), folder / "rows.parquet"
    if step == "sample":
        folder.mkdir(parents=True, exist_ok=True)
        return partial(sampler().sample_to, source, rows, replace=True)
    if step.startswith("encode"):
        numbers = step == "encode with numbers"
        target = folder / ("numbers" if numbers else "codes")
        return partial(writing.encode_folder, source, target, schema=public, numbers=numbers, replace=True)
    if step == "all pairs":
        return lambda: FolderRows(Folder.open(folder / "codes")).marginals(combinations(range(len(public)), 2))
    if step == "distances":
        from dpcore.evaluate.distances import marginal_avd

        other = public.encode(next(made_up(min(rows, CHUNK))))
        return lambda: marginal_avd(Folder.open(folder / "codes"), other, public, degree=2)
    method = METHODS[step](epsilon=1.0, random_state=0)
    return partial(method.fit, folder / ("numbers" if step == "DiffPRFs" else "codes"), schema=public)


def in_folder(step: str, rows: int, folder: Path) -> dict[str, float]:
    """Return seconds, peak megabytes and written bytes of one step in a folder."""
    clock, processor = seconds(work(step, rows, folder))
    found = {"seconds": clock, "processor": processor}
    found["MB"] = max(resource.getrusage(who).ru_maxrss for who in USAGE_OF) / 1024
    written = {"sample": "rows.parquet", "encode": "codes/*.parquet", "encode with numbers": "numbers/*.parquet"}
    found["bytes"] = sum(path.stat().st_size for path in folder.glob(written.get(step, "nothing")))
    return found


def main() -> None:
    """Run the measurement that the arguments select."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--against", type=Path, help="another checkout of this project")
    parser.add_argument("--place", type=Path, help="a new folder, for the rows and their codes")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS)
    parser.add_argument("--json", help=argparse.SUPPRESS)  # a step, in a process of its own
    arguments = parser.parse_args()
    here = Path(__file__).resolve().parents[1]
    if arguments.json:
        found = (
            in_memory(arguments.rows)
            if arguments.json == "memory"
            else in_folder(arguments.json, arguments.rows, arguments.place)
        )
        print(json.dumps(found))
    elif arguments.place:
        for step in arguments.steps:
            found = of_process(["--rows", str(arguments.rows), "--json", step, "--place", str(arguments.place)], here)
            size = f" {found['bytes'] / arguments.rows:6.1f} bytes per row" if found["bytes"] else ""
            times = f"{found['seconds']:8.2f} s {found['processor']:8.2f} s of processors"
            print(f"{step:20} {times} {found['MB']:6.0f} MB{size}", flush=True)
    else:
        checkouts = [here, *([arguments.against] if arguments.against else [])]
        least = turns(arguments.rows, checkouts, arguments.repeats)
        for step, (clock, processor) in least[0].items():
            line = f"{step:22} {clock:6.2f} s {processor:6.2f} s of processors"
            for other in least[1:]:
                line += f"   {clock / other[step][0]:.2f} and {processor / other[step][1]:.2f}"
                line += f" of {other[step][0]:.2f} and {other[step][1]:.2f} s"
            print(line, flush=True)


if __name__ == "__main__":
    main()
