"""Runs the slow tests: all of them where what they audit has changed since they were last green, and else a tenth.

    python -m scripts.audits             what CI runs; the commit's hash chooses the tenth
    python -m scripts.audits --all       all of them, whatever has changed
    python -m scripts.audits --check     runs nothing: names what has changed

Where all of them were green, what was audited is written to tests/audit/recorded.txt, to be committed; not so if a
data set may lack (DPCORE_REQUIRE_DATA is not set) or other words were given, which are for pytest. It has a digest a
line: the packages up to and including `methods`, `audit` itself, the locked versions of what they import, and the
tests. Where git cannot name the commit, the digests choose the tenth.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = Path("tests/audit/recorded.txt")
HEAD = "# What the slow tests had audited when all of them were green. `make audits` writes this."
LOCK = "requirements-dev.lock"
# All that a method may import, and not what words and pictures are made of.
AUDITED = (
    "errors.py", "extras.py", "text.py", "arguments.py", "domain", "accounting", "mechanisms", "datasets",
    "postprocess", "rows", "door", "methods", "audit",
)  # fmt: skip


def tests(root: Path) -> list[Path]:
    """The files that hold a slow test, all of tests/audit, and what tests of all folders share."""
    folder = root / "tests"
    slow = (path for path in folder.rglob("*.py") if re.search(r"\bslow\b", path.read_text()))
    return sorted({*folder.glob("*.py"), *(folder / "audit").rglob("*.py"), *slow})


def digest(root: Path, files: list[Path]) -> str:
    found = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        found.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()[:32]


def digests(root: Path) -> Iterator[str]:
    """The lines of the record, as the tree is now."""
    for path in (root / "dpcore" / name for name in AUDITED):
        files = sorted([*path.rglob("*.py"), *path.rglob("*.toml")]) if path.is_dir() else [path]
        yield f"dpcore/{path.name} {digest(root, files)}"
    yield f"tests {digest(root, tests(root))}"
    yield f"{LOCK} {digest(root, [root / LOCK])}"


def changes(root: Path) -> list[str]:
    """What is not as it was when the slow tests were last green."""
    record = root / RECORD
    known = record.read_text().splitlines() if record.exists() else []
    return [line.partition(" ")[0] for line in digests(root) if line not in known]


def commit(root: Path) -> str:
    """What chooses a tenth."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "\n".join(digests(root))
    return found.stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--all", action="store_true", help="run all")
    parser.add_argument("--check", action="store_true", help="run none, and say what has changed")
    parser.add_argument("--seeds", default="3", help="how many seeds a loop over seeds takes: a number, or all")
    arguments, words = parser.parse_known_args()
    before, new = list(digests(ROOT)), changes(ROOT)
    print(f"Changed since the last audit: {', '.join(new)}" if new else "Nothing has changed since the last audit.")
    if arguments.check:
        return bool(new)
    tenth = [] if arguments.all or new else ["--tenth", commit(ROOT)]
    print("One in ten slow tests runs." if tenth else "All slow tests run.", flush=True)
    command = [sys.executable, "-m", "pytest", "-m", "slow and not browser", "--seeds", arguments.seeds, *tenth, *words]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if not tenth and not code:
        if words or not os.environ.get("DPCORE_REQUIRE_DATA"):
            print("Nothing is written down: tests may have been left out.")
        elif before != list(digests(ROOT)):
            print("Nothing is written down: the sources changed while the tests ran.")
            return 1
        else:
            (ROOT / RECORD).write_text("\n".join([HEAD, *before, ""]))
            print(f"Written down in {RECORD}; commit it.")
    return code


if __name__ == "__main__":
    sys.exit(main())
