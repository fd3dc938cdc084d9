"""`dpcore figure`: reproduce a figure of a paper as files, without the dashboard."""

import argparse
import re
import sys

import pandas as pd

from dpcore import datasets
from dpcore.charts.base import REAL_DATA
from dpcore.errors import DataError
from dpcore.experiment.commands import print_summary, progress_line, require_writable, write
from dpcore.experiment.figures import MadeFigure, find_figure, stream
from dpcore.experiment.study import failed_runs
from dpcore.export import report
from dpcore.export.rendering import render, spreadsheet_csv
from dpcore.extras import need


def make(options: argparse.Namespace) -> int:
    """Make the runs of a paper's figure, write charts and numbers, and return the exit code."""
    need("vl_convert", "Drawing charts as files")  # before anything is spent
    find_figure(options.name)
    data = datasets.load(options.data)
    stem = re.sub(r"\W+", "-", f"{options.name} {data.name}{' all rows' * (options.rows == 'all')}").strip("-")
    if options.out:
        require_writable(options.out, force=options.force)
    else:
        options.to.mkdir(parents=True, exist_ok=True)
        if (there := sorted(options.to.glob(f"{stem}-*"))) and not options.force:
            raise DataError(f"{there[0]} exists already.", "Choose another folder, or replace it with --force.")
    frames: list[pd.DataFrame] = []
    try:
        how = {"repeats": options.repeats, "rows": options.rows, "progress": progress_line}
        frames.extend(stream(options.name, data, durable=True, **how))
    except KeyboardInterrupt:
        if not frames:
            raise
        sys.stderr.write(f"\nStopped: {len(frames):,} runs are finished, and are written.\n")
    figure = MadeFigure(find_figure(options.name), pd.concat(frames, ignore_index=True))
    files = {options.out: html_page(figure, f"{options.name}, {data.name}").encode()} if options.out else {
        options.to / f"{stem}{ending}": content for ending, content in figure_files(figure).items()
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
    print_summary(options, done, "\n".join([*map(str, files), *figure.verdicts]))
    return int(bool(len(failed)))


def figure_files(figure: MadeFigure) -> dict[str, bytes]:
    """Return the figure's charts (SVG) and numbers (CSV) by the ends of their file names."""
    files = {f"-{count}.svg": report.svg(chart, count).encode() for count, chart in enumerate(figure.charts(), 1)}
    return {**files, "-do-not-publish.csv": spreadsheet_csv(figure.frame).encode()}


def html_page(figure: MadeFigure, title: str) -> str:
    """Return the figure as one HTML page with charts, verdicts and numbers; it needs no network."""
    charts = [report.figure(chart, None, count) for count, chart in enumerate(figure.charts(), 1)]
    shown = {"charts": charts, "verdicts": figure.verdicts, "numbers": report.table(figure.frame)}
    return render("figure.html", title=title, mark=REAL_DATA, **shown)
