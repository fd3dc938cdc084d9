"""The names by which scripts that are taken home with a classifier call this package; they take any release."""

from dpcore.export.archive import bundle
from dpcore.export.model_file import Model
from dpcore.export.release import Release as ModelRelease
from dpcore.export.release import release_of
from dpcore.export.replay import notebook_of, show_code
from dpcore.export.report import report_of

__all__ = ["Model", "ModelRelease", "bundle", "notebook_of", "release_of", "report_of", "show_code"]
