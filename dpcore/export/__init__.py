"""Releases, and the files that they are taken home in."""

from dpcore.export.archive import Release, bundle, notebook_of, release_of, report_of, show_code
from dpcore.export.release import plain
from dpcore.export.spreadsheet import spreadsheet_csv, spreadsheet_safe

__all__ = [
    "Release",
    "bundle",
    "notebook_of",
    "plain",
    "release_of",
    "report_of",
    "show_code",
    "spreadsheet_csv",
    "spreadsheet_safe",
]
