"""Private rows behind the door, in memory or in a folder: exact counts, look-ups and splits.

Private: only the door and the (never private) evaluation may hold `Rows`. Counts are sums over
blocks of rows, so that callers need not know where the rows are.
"""

from dpcore.rows.base import NumberCodes, NumberRule, Rows
from dpcore.rows.data import FolderData
from dpcore.rows.folder import Folder
from dpcore.rows.sources import FolderRows, HeldRows, RowSource, check_source, joint_counts, rows_of

__all__ = [
    "Folder", "FolderData", "FolderRows", "HeldRows", "NumberCodes", "NumberRule", "RowSource", "Rows",
    "check_source", "joint_counts", "rows_of",
]  # fmt: skip
