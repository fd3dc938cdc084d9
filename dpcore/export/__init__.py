"""Releases, and the files that they are taken home in."""

from dpcore.export.archive import bundle
from dpcore.export.collection import Collection
from dpcore.export.quoting import plain, spreadsheet_csv, spreadsheet_safe
from dpcore.export.release import Release, release_of
from dpcore.export.replay import notebook_of, show_code
from dpcore.export.report import report_of

__all__ = [
    "Collection", "Release", "bundle", "notebook_of", "plain", "release_of", "report_of", "show_code",
    "spreadsheet_csv", "spreadsheet_safe",
]  # fmt: skip
