"""Measure a public server with fifty visitors at a time: waiting times, isolation and memory.

    python -m benchmarks.visitors [--visitors 50] [--releases 3]
    python -m benchmarks.visitors --comparisons 3      waiting times of one more visitor beside them

Visitors are clients of Streamlit's websocket protocol, without a browser. Half of them upload a
small table with a mark of their own, the others use the sample. Each makes releases, as soon as all
have opened the page. The clock of a release runs from the press to the page that shows it. Memory
is the server process' own: after one visitor of each kind made a release and left (modules and the
sample are loaded then), when all have their releases, and after they left.
"""

import argparse
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier, BrokenBarrierError

from scripts.screenshots import COMMAND, ROOT, start_dashboard

sys.path.insert(0, str(ROOT / "tests" / "app"))
from protocol import PATIENCE, Visitor, marks
from test_app_many import MARK, WORD, table

PAGE, STAYS = "naive_bayes", 5
OPEN = [*COMMAND, "--hosted", "--uploads", "--server.enableXsrfProtection", "false"]  # clients are no browsers
OPEN += ["--server.disconnectedSessionTTL", str(STAYS)]


def visit(address: str, visitor: int, releases: int, ready: Barrier, done: Barrier) -> tuple[list[float], set[bytes]]:
    """Make a visitor's releases; return the seconds of each, and the marks that the visitor saw."""
    with Visitor(address) as me, ExitStack() as failed:
        failed.callback(done.abort)  # the others must not wait for a failed visitor
        failed.callback(ready.abort)
        if visitor % 2 == 0:
            me.open("data")
            me.set("data.source", string_array_value=["My own file"])
            me.upload("data.file", f"{WORD}{visitor:03}.csv", table(visitor))
            me.set("data.target", string_value=f"{WORD}{visitor:03}ill")
            me.press("data.round")
            me.press("data.declare")
            me.press("data.use")
        me.open(PAGE)
        ready.wait(PATIENCE)
        seconds = []
        for _ in range(releases):
            begin = time.perf_counter()
            me.press(f"{PAGE}.run")
            seconds.append(time.perf_counter() - begin)
        me.set(f"{PAGE}.tab.en", string_value="Columns")
        done.wait(PATIENCE)
        done.wait(PATIENCE)  # until the memory was read
        failed.pop_all()
    return seconds, marks(me.heard, MARK)


def time_during_comparisons(address: str, comparisons: int, releases: int) -> list[float]:
    """Return the seconds of a visitor's releases while other visitors run comparisons."""

    def compare() -> None:
        with Visitor(address) as other:
            other.open("compare")
            begun.wait(PATIENCE)
            other.press("compare.run")

    begun = Barrier(comparisons + 1)
    with ThreadPoolExecutor(comparisons + 1) as pool, Visitor(address) as me:
        others = [pool.submit(compare) for _ in range(comparisons)]
        me.open(PAGE)
        begun.wait(PATIENCE)
        time.sleep(STAYS)
        seconds = []
        while len(seconds) < releases and not any(other.done() for other in others):
            begin = time.perf_counter()
            me.press(f"{PAGE}.run")
            seconds.append(time.perf_counter() - begin)
        for other in others:
            other.result()
    return seconds


def memory(process: int) -> float:
    """Return the megabytes of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def main() -> None:
    """Run the measurement and print its results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--releases", type=int, default=3)
    parser.add_argument("--comparisons", type=int, default=0)
    given = parser.parse_args()
    with TemporaryDirectory() as folder, start_dashboard(Path(folder) / "log", command=OPEN) as server:
        warm = Barrier(1)
        for index in range(2):
            visit(server.address, index, 1, warm, warm)
        time.sleep(STAYS + 5)
        if given.comparisons:
            waits = time_during_comparisons(server.address, given.comparisons, given.releases)
            print("beside comparisons:", ", ".join(f"{second:.1f} s" for second in waits))
            return
        begin = memory(server.process.pid)
        ready, done = Barrier(given.visitors), Barrier(given.visitors + 1)
        with ThreadPoolExecutor(given.visitors) as pool:
            requests = [
                pool.submit(visit, server.address, index, given.releases, ready, done)
                for index in range(given.visitors)
            ]
            with suppress(BrokenBarrierError):
                done.wait(PATIENCE)
                full = memory(server.process.pid)
                done.wait(PATIENCE)
            errors = [error for visitor in requests if (error := visitor.exception())]
            for error in sorted(errors, key=lambda error: isinstance(error, BrokenBarrierError)):
                raise error  # who failed, before those who waited for them
            found = [visitor.result() for visitor in requests]
        time.sleep(STAYS + 30)
        after = memory(server.process.pid)
    waits = [second for seconds, _ in found for second in seconds]
    foreign = [
        index
        for index, (_, seen) in enumerate(found)
        if seen != ({f"{index:03}".encode()} if index % 2 == 0 else set())
    ]
    print(f"{len(waits)} releases: median {statistics.median(waits):.1f} s, worst {max(waits):.1f} s")
    print(f"visitors who saw another's mark, or not their own: {foreign}")
    print(f"memory: {begin:.0f} MB, {full:.0f} MB with all of them, {after:.0f} MB after ({after / begin - 1:+.0%})")
    print(f"a session: {(full - begin) / given.visitors:.1f} MB")


if __name__ == "__main__":
    main()
