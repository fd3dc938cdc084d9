"""List what a change lacks: format, lists, records, translations, planted faults, size, words.

    make missing

The script runs ruff and the tests marked `listed`. Each complaint names the place, or the command
that fixes it.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("tests/audit", "tests/charts", "tests/contract")


class Listener:
    """Pytest plugin that collects the messages of failed tests."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the failure of one step of a test: its set-up, its call or its tear-down."""
        self.count += report.when == "call"
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else str(report.longrepr)
            self.complaints.append(f"{report.nodeid.partition('::')[2]}\n    {clean(text)}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record that a file of tests cannot be imported."""
        if report.failed:
            self.complaints.append(f"{report.nodeid} cannot be loaded\n    {str(report.longrepr).splitlines()[-1]}")


def clean(message: str) -> str:
    """Return a test's message without pytest's explanation of the assertion."""
    lines = message.removeprefix("AssertionError: ").partition("\n\n")[0].splitlines()
    return "\n    ".join(line for line in lines if not line.startswith("assert ")) or message


def lint() -> list[str]:
    """Return ruff's complaints about code and format."""
    found = []
    for words in (("check",), ("format", "--check")):
        command = [sys.executable, "-m", "ruff", *words, "--quiet", "--output-format=concise", str(ROOT)]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found += ["\n    ".join((f"ruff {words[0]}", *text.splitlines()))] if text else []
    return found


def main() -> int:
    """Run ruff and the listed tests, and print their complaints; return 1 if there are any."""
    listener = Listener()
    words = ["-m", "listed", "-n", "0", "-p", "no:terminal", "-p", "no:cacheprovider"]
    pytest.main([*words, *(str(ROOT / folder) for folder in FOLDERS)], plugins=[listener])
    complaints = [*lint(), *listener.complaints]
    print(*complaints, sep="\n\n")
    print(f"\n{len(complaints)} of {listener.count + 2} lists, records, formats and gates lack something.")
    return int(bool(complaints) or not listener.count)


if __name__ == "__main__":
    sys.exit(main())
