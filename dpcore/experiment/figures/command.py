"""`dpcore figure`: a figure of a paper made again without the dashboard, as files."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dpcore import datasets
from dpcore.errors import DPCoreError
from dpcore.experiment.figures import Made, known, named, stream
from dpcore.export.quoting import spreadsheet_csv
from dpcore.export.report import svg
from dpcore.extras import need


def main(arguments: Sequence[str]) -> int:
    """Make the figure and say where it is; the exit code. What cannot be made ends the process with 2 and a message."""
    parser = command()
    asked = parser.parse_args(arguments)
    frames: list[pd.DataFrame] = []
    try:
        need("vl_convert", "Drawing charts as files")  # before anything is spent
        data = datasets.load(asked.data)
        asked.to.mkdir(parents=True, exist_ok=True)
        try:
            frames.extend(stream(asked.name, data, repeats=asked.repeats, durable=True, progress=told))
        except KeyboardInterrupt:
            if not frames:
                raise
            sys.stderr.write(f"\nStopped: {len(frames):,} runs are finished, and are written.\n")
        made = Made(named(asked.name), pd.concat(frames, ignore_index=True))
        files = {f"-{count}.svg": svg(chart, count).encode() for count, chart in enumerate(made.charts(), 1)}
        files["-do-not-publish.csv"] = spreadsheet_csv(made.frame).encode()
        stem = re.sub(r"\W+", "-", f"{asked.name} {data.name}").strip("-")
        for ending, content in files.items():
            (asked.to / f"{stem}{ending}").write_bytes(content)
            sys.stdout.write(f"{asked.to / f'{stem}{ending}'}\n")
        sys.stdout.write("".join(f"{line}\n" for line in made.verdicts))
    except (DPCoreError, OSError) as error:
        parser.error(str(error))
    failed = made.frame[made.frame["error"] != ""]
    for (series, mode, reason), lost in failed.groupby(["series", "mode", "error"], sort=False):
        sys.stderr.write(f"{len(lost):,} runs of {series}, {mode}, failed: {reason}\n")
    return int(len(failed) == len(made.frame))


def command() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(
        prog="dpcore figure",
        description="Make a figure of a paper again: its charts (SVG) and the numbers of all runs (CSV). Every run is "
        "a release of the rows, and is charged to your ledger.",
        epilog=f"Figures: {', '.join(known())}.",
        allow_abbrev=False,
    )
    parser.add_argument("name", help="the paper and its figure, in quotes, as in '001 Fig. 5'")
    parser.add_argument("--data", default="sample", help=f"one of: {'; '.join(datasets.DATASETS)} (default: sample)")
    parser.add_argument("--repeats", type=int, default=3, help="how often everything runs (default: 3)")
    parser.add_argument("--to", type=Path, default=Path(), help="the folder of the files (default: this one)")
    return parser


def told(fraction: float, text: str) -> None:
    """One line that says how far it is."""
    sys.stderr.write(f"\r{fraction:4.0%} {text:<60.60}{'' if fraction < 1 else chr(10)}")
    sys.stderr.flush()
