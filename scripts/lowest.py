"""Create an environment with the lowest version of each package in pyproject.toml: `make lowest`.

    python3.11 scripts/lowest.py FOLDER

The lowest versions of the package's dependencies and extras are installed exactly, and the test
tools in the versions of requirements-dev.lock. pip chooses the versions of indirect dependencies.
"""

import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOWEST_PYTHON = (3, 11)


def floors(project: dict, lock: str) -> Iterator[str]:
    """Yield each package that the project names, pinned to one version."""
    extras = dict(project["optional-dependencies"])
    tools, _ = extras.pop("dev"), extras.pop("docs")
    needs = [*chain(project["dependencies"], *extras.values())]
    for need in needs:
        yield re.sub(r">=([^,;]+)[^;]*", r"==\1", need)
    for need in set(tools) - set(needs):
        name = re.match(r"[\w-]+", need).group()
        yield re.search(rf"^{name}==[^\\\n]+", lock, re.MULTILINE).group().strip()


def main(folder: str) -> None:
    """Create the environment in a folder."""
    if sys.version_info[:2] != LOWEST_PYTHON:
        sys.exit("The floors hold on the lowest Python: make lowest PYTHON=python3.11")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    exact = list(floors(project, (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")))
    print(f"Installing {', '.join(exact)} into {folder} ...")
    venv.create(folder, clear=True, with_pip=True)
    pip = [str(Path(folder, "bin", "python")), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    sys.exit(subprocess.run([*pip, *exact]).returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
