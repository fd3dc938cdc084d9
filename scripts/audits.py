"""Run the slow tests: all if the audited sources have changed since they last passed, else a tenth.

    python -m scripts.audits             what CI runs; the commit's hash selects the tenth
    python -m scripts.audits --all       all slow tests, whatever has changed
    python -m scripts.audits --check     run nothing: list what has changed

After all slow tests have passed, digests of the audited sources are written to
tests/audit/recorded.txt, which should be committed. They are not written if a data set may be
missing (DPCORE_REQUIRE_DATA is not set) or if other arguments were passed, which go to pytest. Each
line has one digest: of a package up to and including `methods`, of `audit`, of the locked versions
of dependencies, and of the tests. Without git, the digests select the tenth.
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
# Everything that a method may import, without texts and charts
AUDITED = (
    "errors.py", "extras.py", "text.py", "arguments.py", "domain", "accounting", "mechanisms", "datasets",
    "postprocess", "rows", "door", "methods", "audit",
)  # fmt: skip


def tests(root: Path) -> list[Path]:
    """Return the files with slow tests, all of tests/audit, and the modules shared by all tests."""
    folder = root / "tests"
    slow = (path for path in folder.rglob("*.py") if re.search(r"\bslow\b", path.read_text()))
    return sorted({*folder.glob("*.py"), *(folder / "audit").rglob("*.py"), *slow})


def digest(root: Path, files: list[Path]) -> str:
    """Return a hash of files: of their paths, sizes and contents."""
    found = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        found.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()[:32]


def digests(root: Path) -> Iterator[str]:
    """Yield the lines of the record for the current tree."""
    for path in (root / "dpcore" / name for name in AUDITED):
        files = sorted([*path.rglob("*.py"), *path.rglob("*.toml")]) if path.is_dir() else [path]
        yield f"dpcore/{path.name} {digest(root, files)}"
    yield f"tests {digest(root, tests(root))}"
    yield f"{LOCK} {digest(root, [root / LOCK])}"


def changes(root: Path) -> list[str]:
    """Return the audited parts that have changed since all slow tests last passed."""
    record = root / RECORD
    known = record.read_text().splitlines() if record.exists() else []
    return [line.partition(" ")[0] for line in digests(root) if line not in known]


def commit(root: Path) -> str:
    """Return the text that selects the tenth: the commit's hash, or the digests without git."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "\n".join(digests(root))
    return found.stdout.strip()


def main() -> int:
    """Run the slow tests and write the record; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--all", action="store_true", help="run all slow tests")
    parser.add_argument("--check", action="store_true", help="run no test; list what has changed")
    parser.add_argument("--seeds", default="3", help="seeds per loop over seeds: a number, or all")
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
