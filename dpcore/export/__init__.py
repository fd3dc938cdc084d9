"""Releases, and the files that hold them."""

from dpcore.arguments import check_public
from dpcore.export import release
from dpcore.export.archive import bundle, file_name, make_notebook, show_code
from dpcore.export.collection import Collection
from dpcore.export.release import Release, make_release
from dpcore.export.rendering import plain, spreadsheet_csv, spreadsheet_safe
from dpcore.export.report import make_report

__all__ = [
    "Collection", "Release", "bundle", "file_name", "make_notebook", "make_release", "make_report", "plain",
    "show_code", "spreadsheet_csv", "spreadsheet_safe",
]  # fmt: skip
models = release  # as scripts call it that were taken home with a classifier
check_public(globals(), __all__)
