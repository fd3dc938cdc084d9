"""Private rows below the door, held, streamed or in an engine: what can be counted, looked up and parted, exactly.

Private: only the door and the (never private) evaluation may hold `Rows`. Counts are sums over blocks of rows, so that
nothing above has to know where the rows are.
"""

from dpcore.rows.base import NumberRule, Rows
from dpcore.rows.data import FolderData
from dpcore.rows.folder import Folder, FolderRows
from dpcore.rows.given import Given, held, rows_of
from dpcore.rows.held import HeldRows, joint_counts

__all__ = [
    "Folder",
    "FolderData",
    "FolderRows",
    "Given",
    "HeldRows",
    "NumberRule",
    "Rows",
    "held",
    "joint_counts",
    "rows_of",
]
