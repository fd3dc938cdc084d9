"""The names by which scripts that were exported with a classifier call this package, former ones among them."""

from dpcore.export.model_file import Model
from dpcore.export.release import make_release as release_of

__all__ = ["Model", "release_of"]
