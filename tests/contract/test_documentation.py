"""Python in the README and in docs/ runs: the blocks of a page one after the other, in a folder of its own."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
PAGES = {
    path.relative_to(ROOT).as_posix(): blocks
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if (blocks := [dedent(block) for _, block in BLOCK.findall(path.read_text(encoding="utf-8"))])
}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPCORE_LEDGER", "session")
    names: dict[str, object] = {"__name__": "__main__"}
    for place, block in enumerate(PAGES[page], 1):
        exec(compile(block, f"{page}, block {place}", "exec"), names)
