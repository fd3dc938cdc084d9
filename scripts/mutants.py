"""Plant faults, one at a time in copies of the tree, and name the test that catches each.

    python scripts/mutants.py                     all of scripts/mutants.toml; fails if one survives
    python scripts/mutants.py -k door --jobs 2    those with "door" in their id, file or tests
    python scripts/mutants.py --check             only check that each fits the source, at once
    python scripts/mutants.py --draw 60 --seed 7  60 random faults instead, and the share caught
    python scripts/mutants.py --draw 60 --seed 7 --tree ../older    the same in another checkout

A fault is a text that occurs once in its file, and its replacement. A fault whose text is gone, or
occurs twice, is stale and must be rewritten. Tests that caught a fault run once more on a copy
without faults, so that a test which always fails catches nothing.

A random fault changes one operator, constant, condition or early end in a package that protects
rows. It is tried on the fast tests of that package and of tests/contract until the first fails;
tests that name its module come first. If the tests cannot be collected, or take too long, the fault
is caught.
"""

import argparse
import ast
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
FAULTS = ROOT / "scripts" / "mutants.toml"
NODE_MODULES = Path("tests/browser/node_modules")
LIBRARIES = ("altair", "pandas", "pyarrow.parquet", "scipy.stats", "sklearn.ensemble", "streamlit.testing.v1")
THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS")}  # forks need one thread
CAUGHT, SURVIVED, LATE, BROKEN = "caught", "SURVIVED", "TOO LATE", "BROKEN"
DRAWN_FROM = ("door", "accounting", "mechanisms", "postprocess", "methods")
NOT_COLLECTED, NO_TESTS = 2, 5  # of pytest's exit codes
RESULTS = {0: SURVIVED, 1: CAUGHT}  # by pytest's exit code; other codes are errors of the run


@dataclass(frozen=True)
class Fault:
    """One planted fault: `old` becomes `new` in `file`.

    `tests` are arguments of pytest, `tier` is the marker of slow ones. For a random fault,
    `fallback` are tests that run after `tests` have passed.
    """

    id: str
    file: str
    old: str
    new: str
    loses: str
    tests: str
    tier: str = ""
    fallback: str = ""

    @property
    def is_drawn(self) -> bool:
        """True if the fault was drawn at random."""
        return bool(self.fallback)

    def planted(self, source: str) -> str:
        """Return the source with the fault."""
        return source.replace(self.old, self.new)

    def complaint(self, root: Path) -> str:
        """Return why the fault is stale; empty if it can be planted."""
        path = root / self.file
        if not path.is_file():
            return f"there is no {self.file}"
        source = path.read_text()
        if (times := source.count(self.old)) != 1:
            return f"its text stands {times} times in {self.file}"
        if self.old == self.new:
            return "nothing is changed"
        if gone := [
            word for word in shlex.split(self.tests) if re.match("tests/", word) and not test_exists(root, word)
        ]:
            return f"there is no {', '.join(gone)}"
        return ""

    def error(self, root: Path) -> str:
        """Return why the file with the fault is not valid Python; empty if it is."""
        path = root / self.file
        try:
            ast.parse(self.planted(path.read_text()) if path.suffix == ".py" else "")
        except SyntaxError as error:
            return f"what is planted is not Python: {error}"
        return ""


def test_exists(root: Path, test: str) -> bool:
    """Return whether a test's file exists, with the named function if there is one."""
    file, _, function = test.partition("::")
    path = root / file
    return path.exists() and (not function or f"def {function.partition('[')[0]}(" in path.read_text())


@dataclass(frozen=True)
class Verdict:
    """Result of one fault: `test` failed first, or `output` explains why no test did."""

    fault: Fault
    result: str
    seconds: float
    test: str = ""
    output: str = ""


def read(path: Path) -> list[Fault]:
    """Return the faults of a TOML file."""
    faults = [Fault(**entry) for entry in tomllib.loads(path.read_text())["fault"]]
    if len({fault.id for fault in faults}) < len(faults):
        raise SystemExit(f"{path.name}: two faults have the same id")
    return faults


def statements(root: Path) -> float:
    """Return the number of statements in `dpcore`, in thousands."""
    nodes = (node for path in (root / "dpcore").rglob("*.py") for node in ast.walk(ast.parse(path.read_text())))
    return sum(isinstance(node, ast.stmt) for node in nodes) / 1_000


def draw_faults(root: Path, number: int, seed: int) -> list[Fault]:
    """Return random faults of operators.

    `old` is the whole file, because a text such as `<` occurs more than once.
    """
    operators, faults = import_module("scripts.operators" if __package__ else "operators"), []
    for index, (file, change) in enumerate(operators.draw(root, DRAWN_FROM, number, seed), 1):
        source = (root / file).read_text()
        line = source.splitlines()[change.line - 1].strip()
        label = f"{index:2} {file}:{change.line} {change.describe(source)}"
        tests, fallback = tests_of(root, file)
        faults.append(Fault(label, file, source, change.plant(source), line, tests, fallback=fallback))
    return faults


def tests_of(root: Path, file: str) -> tuple[str, str]:
    """Return the tests that name a file or its module, and the other tests of its package.

    The second group contains the contract tests.
    """
    module = Path(file).with_suffix("")
    stem = module.parent.name if module.name == "__init__" else module.name
    named, importing, others = [], [], []
    for test in sorted((root / "tests" / module.parts[1]).rglob("test_*.py")):
        mentioned = re.search(rf"\b{stem}\b", test.read_text())
        (named if stem in test.name else importing if mentioned else others).append(test)
    others += sorted((root / "tests" / "contract").rglob("test_*.py"), key=lambda test: test.stem != "test_golden")
    first, rest = ([path.relative_to(root).as_posix() for path in paths] for paths in (named + importing, others))
    return " ".join(first), " ".join(rest)


def copy_tree(root: Path, folder: Path) -> None:
    """Copy all files that git tracks, or would add, to a folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    if (root / NODE_MODULES).exists():
        (folder / NODE_MODULES).symlink_to((root / NODE_MODULES).resolve())


class Copy:
    """Copy of the tree, with a process that has loaded the libraries and forks for each run."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        copy_tree(root, folder)
        environment = os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "1000", **THREADS}
        self._nurse = subprocess.Popen(
            [sys.executable, __file__, "--nurse"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def pytest(self, words: list[str], patience: float) -> tuple[int | None, str]:
        """Run pytest in the copy; return exit code (None if it took too long) and output."""
        loaded = "ignore::pytest.PytestAssertRewriteWarning"  # of libraries with an unused plugin
        command = ["-q", "-n", "0", "-rfE", "--tb=no", "-p", "no:cacheprovider", "-W", loaded, *words]
        with tempfile.NamedTemporaryFile("r") as output:
            print(json.dumps([command, patience, output.name]), file=self._nurse.stdin, flush=True)
            return json.loads(self._nurse.stdout.readline()), output.read()

    def close(self) -> None:
        """End the copy's process."""
        self._nurse.terminate()
        self._nurse.communicate()


def nurse() -> None:
    """Run pytest for each line of standard input, in a fork of this process with its libraries."""
    signal.signal(signal.SIGTERM, leave)
    for name in LIBRARIES:
        import_module(name)
    for line in sys.stdin:
        words, patience, output = json.loads(line)
        child = os.fork()
        if not child:
            run_pytest(words, output)
        print(json.dumps(wait_for_end(child, patience)), flush=True)


def leave(*_: object) -> NoReturn:
    """Exit with code 1 and run all `finally` blocks, so that no process stays behind."""
    sys.exit(1)


def run_pytest(words: list[str], output: str) -> NoReturn:
    """Run pytest in a forked process, which ends with pytest's exit code."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    sys.path[0] = str(Path.cwd())
    for stream, opened in ((0, os.open(os.devnull, os.O_RDONLY)), (1, os.open(output, os.O_WRONLY))):
        os.dup2(opened, stream)
    os.dup2(1, 2)
    code = 3
    try:
        code = int(import_module("pytest").main(words))
    except BaseException:  # print it and end this process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def wait_for_end(child: int, patience: float) -> int | None:
    """Return the exit code of a process; None after killing its group if it takes too long.

    The group is killed too if the parent process has ended.
    """
    late, found, asker = time.monotonic() + patience, 0, os.getppid()
    try:
        while time.monotonic() < late and os.getppid() == asker:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        return None
    finally:
        if not found:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)


def failures(output: str) -> list[str]:
    """Return the failed tests in pytest's output."""
    return re.findall(r"^(?:FAILED|ERROR) (\S+::\S+(?: [^-\n]\S*)*)", output, re.MULTILINE)


@contextmanager
def plant(fault: Fault, folder: Path) -> Iterator[None]:
    """Plant a fault in a copy for the time of a `with` block.

    Compiled files are deleted: Python compares sizes and seconds only, which may be equal.
    """
    path = folder / fault.file
    source = path.read_text()
    try:
        path.write_text(fault.planted(source))
        Path(cache_from_source(str(path))).unlink(missing_ok=True)
        yield
    finally:
        path.write_text(source)
        Path(cache_from_source(str(path))).unlink(missing_ok=True)


def try_fault(fault: Fault, copy: Copy, patience: float) -> Verdict:
    """Run a fault's tests with the fault planted and return the verdict."""
    start = time.monotonic()
    code: int | None = 0
    output = ""
    with plant(fault, copy.folder):
        for tests in filter(None, (fault.tests, fault.fallback)):
            words = ["-x", *shlex.split(tests), "-m", fault.tier or "not slow and not browser"]
            code, output = copy.pytest(words, patience)
            if code not in {0, NO_TESTS} or not fault.is_drawn:
                break
    result = LATE if code is None else RESULTS.get(code, BROKEN)
    first = next(iter(failures(output)), "")
    if fault.is_drawn and (code is None or code == NOT_COLLECTED):
        result, first = CAUGHT, "nothing is collected" if code else f"not done after {patience:.0f} s"
    return Verdict(fault, result, time.monotonic() - start, first, output)


def always_failing(verdicts: list[Verdict], copy: Copy) -> list[str]:
    """Return the tests that caught a fault but also fail without any fault."""
    tests = sorted({each.test for each in verdicts if each.result == CAUGHT and "::" in each.test})
    if not tests:
        return []
    code, output = copy.pytest(["-m", "", *tests], patience=3_600)
    return failures(output) or ([] if code == 0 else [output])


def run(root: Path, faults: list[Fault], jobs: int, patience: float) -> bool:
    """Try all faults, print each result, and return whether every fault was caught."""
    with tempfile.TemporaryDirectory(prefix="dpcore-mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        copies = [Copy(root, Path(folder) / f"{number}" / "dpcore") for number in range(jobs)]
        free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            free.put(copy)

        def one(fault: Fault) -> Verdict:
            copy = free.get()
            try:
                verdict = try_fault(fault, copy, patience)
            finally:
                free.put(copy)
            print(f"{verdict.result:8} {verdict.seconds:6.1f} s  {fault.id:60} {verdict.test}", flush=True)
            return verdict

        start = time.monotonic()
        try:
            verdicts = list(pool.map(one, faults))
            failing = always_failing(verdicts, copies[0])
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for copy in copies:
                copy.close()
    seconds = time.monotonic() - start
    not_caught = [verdict for verdict in verdicts if verdict.result != CAUGHT]
    for verdict in not_caught:
        print(f"\n{verdict.result}: {verdict.fault.id} ({verdict.fault.loses})")
        if verdict.result == BROKEN:
            print("\n".join(verdict.output.splitlines()[-15:]))
        elif not verdict.fault.is_drawn:
            print(f"  {verdict.fault.tests}")
    for test in failing:
        print(f"\nFAILS WITHOUT A FAULT: {test}")
    caught = len(verdicts) - len(not_caught)
    share = f"{caught / max(len(verdicts), 1):.0%}"
    print(f"\n{len(verdicts)} planted, {caught} caught ({share}), {len(not_caught)} not, in {seconds:.0f} s")
    return not not_caught and not failing


def main() -> int:
    """Run or check the faults that the arguments select; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", metavar="PATTERN", help="only faults with PATTERN in id, file or tests")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="copies at a time")
    parser.add_argument("--patience", type=float, default=600, help="most seconds for the tests of one fault")
    parser.add_argument("--check", action="store_true", help="run no tests: only list stale faults")
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="plant N random faults instead")
    parser.add_argument("--seed", type=int, default=7, help="seed of the random faults")
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout to test; by default this one")
    parser.add_argument("--nurse", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.nurse:
        nurse()
        return 0

    signal.signal(signal.SIGTERM, leave)
    root = arguments.tree.resolve()
    every = (
        draw_faults(root, arguments.draw, arguments.seed) if arguments.draw else read(root / "scripts" / FAULTS.name)
    )
    faults = [one for one in every if re.search(arguments.k, f"{one.id} {one.file} {one.tests}")]
    stale = {fault: complaint for fault in faults if (complaint := fault.complaint(root) or fault.error(root))}
    fitting = [fault for fault in faults if fault not in stale]
    caught = arguments.check or run(root, fitting, arguments.jobs, arguments.patience)
    for fault, complaint in stale.items():
        print(f"STALE: {fault.id}: {complaint}")
    density = "" if arguments.draw else f"; {len(every) / statements(root):.2f} for 1,000 statements"
    print(f"{len(faults)} faults, {len(stale)} stale{density}")
    return 0 if faults and caught and not stale else 1


if __name__ == "__main__":
    sys.exit(main())
