"""`dpcore figure`: a figure of a paper made again without the dashboard, as files."""

import argparse
import re
import sys

import pandas as pd

from dpcore import datasets
from dpcore.charts.base import REAL_DATA
from dpcore.errors import DataError
from dpcore.experiment.commands import progress_line, room, summary, write
from dpcore.experiment.figures import MadeFigure, find_figure, stream
from dpcore.experiment.study import failed_runs
from dpcore.export import report
from dpcore.export.rendering import render, spreadsheet_csv
from dpcore.extras import need


def make(options: argparse.Namespace) -> int:
    """Make a figure of a paper and write its files; return the exit code."""
    need("vl_convert", "Drawing charts as files")  # before anything is spent
    find_figure(options.name)
    data = datasets.load(options.data)
    stem = re.sub(r"\W+", "-", f"{options.name} {data.name}{' all rows' * (options.rows == 'all')}").strip("-")
    if options.out:
        room(options.out, force=options.force)
    else:
        options.to.mkdir(parents=True, exist_ok=True)
        if (there := sorted(options.to.glob(f"{stem}-*"))) and not options.force:
            raise DataError(f"{there[0]} is there already.", "Choose another folder, or replace it with --force.")
    frames: list[pd.DataFrame] = []
    try:
        frames.extend(
            stream(options.name, data, repeats=options.repeats, rows=options.rows, durable=True, progress=progress_line)
        )
    except KeyboardInterrupt:
        if not frames:
            raise
        sys.stderr.write(f"\nStopped: {len(frames):,} runs are finished, and are written.\n")
    figure = MadeFigure(find_figure(options.name), pd.concat(frames, ignore_index=True))
    files = {options.out: page(figure, f"{options.name}, {data.name}").encode()} if options.out else {
        options.to / f"{stem}{ending}": content for ending, content in parts(figure).items()
    }  # fmt: skip
    for path, content in files.items():
        write(path, content, force=options.force)
    failed = failed_runs(frames)
    for (series, mode, reason), lost in failed.groupby(["series", "mode", "error"], sort=False):
        sys.stderr.write(f"{len(lost):,} runs of {series}, {mode}, failed: {reason}\n")
    done = {
        "command": "figure",
        "out": [str(path) for path in files],
        "data": data.name,
        "runs": len(frames),
        "runs_failed": len(failed),
        "verdicts": figure.verdicts,
        "uses_real_data": True,
    }
    summary(options, done, "\n".join([*map(str, files), *figure.verdicts]))
    return int(bool(len(failed)))


def parts(figure: MadeFigure) -> dict[str, bytes]:
    """Return a figure's charts and numbers as files, by the endings of their names."""
    files = {f"-{count}.svg": report.svg(chart, count).encode() for count, chart in enumerate(figure.charts(), 1)}
    return {**files, "-do-not-publish.csv": spreadsheet_csv(figure.frame).encode()}


def page(figure: MadeFigure, title: str) -> str:
    """Return a figure as one HTML page, which opens without a network."""
    charts = [report.figure(chart, None, count) for count, chart in enumerate(figure.charts(), 1)]
    shown = {"charts": charts, "verdicts": figure.verdicts, "numbers": report.table(figure.frame)}
    return render("figure.html", title=title, mark=REAL_DATA, **shown)
