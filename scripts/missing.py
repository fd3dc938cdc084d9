"""Says in one run what a change still lacks: lines of lists and tables, records, translations, and what is too much.

    make missing

It asks ruff, and the tests that hold such lists (marked `listed`), so that nothing is checked in two ways. What each
says names the place, or the command that mends it.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("tests/audit", "tests/charts", "tests/contract")


class Listener:
    """Writes down what the tests complain of."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One step of a test: its set-up, its call or its end."""
        self.count += report.when == "call"
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else str(report.longrepr)
            self.complaints.append(f"{report.nodeid.partition('::')[2]}\n    {clean(text)}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file of tests that cannot be loaded, because something else cannot."""
        if report.failed:
            self.complaints.append(f"{report.nodeid} cannot be loaded\n    {str(report.longrepr).splitlines()[-1]}")


def clean(message: str) -> str:
    """What a test says, without how Python came to it."""
    lines = message.removeprefix("AssertionError: ").partition("\n\n")[0].splitlines()
    return "\n    ".join(line for line in lines if not line.startswith("assert ")) or message


def lint() -> list[str]:
    """What ruff says of lines and of their format."""
    found = []
    for words in (("check",), ("format", "--check")):
        command = [sys.executable, "-m", "ruff", *words, "--quiet", "--output-format=concise", str(ROOT)]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found += ["\n    ".join((f"ruff {words[0]}", *text.splitlines()))] if text else []
    return found


def main() -> int:
    """Run them, and say what they say; 1 if anything is missing."""
    listener = Listener()
    words = ["-m", "listed", "-n", "0", "-p", "no:terminal", "-p", "no:cacheprovider"]
    pytest.main([*words, *(str(ROOT / folder) for folder in FOLDERS)], plugins=[listener])
    complaints = [*lint(), *listener.complaints]
    print(*complaints, sep="\n\n")
    print(f"\n{len(complaints)} of {listener.count + 2} lists, records, formats and gates lack something.")
    return int(bool(complaints) or not listener.count)


if __name__ == "__main__":
    sys.exit(main())
