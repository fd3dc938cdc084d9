"""Static files for browsers: style sheets, scripts and the wordmark."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent
COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.DOTALL | re.MULTILINE)


def read_asset(name: str) -> str:
    """Return the text of a style sheet or script, without its comments."""
    return COMMENT.sub("", (FOLDER / name).read_text(encoding="utf-8"))
