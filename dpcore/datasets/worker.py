"""Files of people are parsed in a process of their own, which is killed at 1 GB of memory or after 20 seconds of work.

A small file may unpack to terabytes, state any size, or find a slow path of a parser; no check
before it is parsed sees all of that. So the process is what is limited, by the operating system:
memory by `RLIMIT_AS`, the processor's time by `RLIMIT_CPU`, and the time by the clock, of which a
busy computer takes more, by an alarm and the waiting parent. It writes no file (no core dump
either, which would hold rows), inherits no environment, and dies with its parent. Where the system
knows no such limits, the parent's clock is what is left: on Windows there is none of memory, and
macOS does not hold a process to it.

Bytes go in on the standard input; out comes an Arrow table or a refusal, and nothing is unpickled.
What the parsers print may quote cells and is thrown away.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpcore.datasets.formats import table_of
from dpcore.errors import DataError

MEMORY = 2**30
SECONDS = 20  # of the processor
WALL = 120  # seconds of the clock
REFUSED = 3  # an exit code that neither Python nor a signal gives
AT_ONCE = threading.BoundedSemaphore(2)  # the others wait: the limit of memory is meant for the computer
# Bare packages, in which the modules are found that lie beside this one, and of which no line runs.
START = """\
import json, sys, types
sys.path[:], folders = json.loads(sys.stdin.buffer.readline())
for name, folder in folders.items():
    sys.modules[name] = package = types.ModuleType(name)
    package.__path__ = [folder]
from dpcore.datasets.worker import serve
serve()
"""
ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve far more addresses than they use
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
FLAGS = ("-I", "-S", "-B")  # no settings of the user's and of the site, and no file written
HERE = Path(__file__).parent
PACKAGES = {"dpcore": os.fspath(HERE.parent), "dpcore.datasets": os.fspath(HERE)}
INHERITED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")  # by which libraries are found
SMALLER = "Leave out columns or rows, or save it as plain CSV."


def table_from(raw: bytes, name: str, asked: Mapping[str, Any]) -> tuple[pa.Table, dict[str, str]]:
    """`formats.table_of` in a process of its own; DataError also if that used all its time or memory, or died."""
    order = json.dumps([MEMORY, SECONDS, WALL, {"name": name, **asked}]).encode() + b"\n"
    inherited = {key: os.environ[key] for key in INHERITED if key in os.environ}
    with AT_ONCE:
        try:
            done = subprocess.run(
                [sys.executable, *FLAGS, "-c", START],
                input=b"".join([places(), order, raw]),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=WALL,
                env={**inherited, **ENVIRONMENT},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise time_out() from None
    if done.returncode == REFUSED:
        raise DataError(*json.loads(done.stdout))
    if os.name == "posix" and done.returncode == -signal.SIGXCPU:
        raise DataError(f"Reading the file takes more than {SECONDS} seconds of the processor.", SMALLER)
    if os.name == "posix" and done.returncode == -signal.SIGALRM:
        raise time_out()
    if done.returncode:
        raise DataError(
            f"The file made its reader fail: it is damaged, or takes more than {MEMORY >> 20:,} MiB of memory.",
            f"Save it again. {SMALLER}",
        )
    with pa.ipc.open_stream(done.stdout, memory_pool=pa.system_memory_pool()) as stream:  # freed at once
        table = stream.read_all()
    read_as: dict[str, str] = json.loads(table.schema.metadata[b"read_as"])
    return table.replace_schema_metadata(), read_as


def places() -> bytes:
    """Where the process finds modules: where this one does."""
    return json.dumps([[os.fspath(Path(path).absolute()) for path in sys.path], PACKAGES]).encode() + b"\n"


def time_out() -> DataError:
    """The refusal of a file that was not read in time, though the processor had not worked on it for long."""
    cause = f"Reading the file was not finished after {WALL} seconds by the clock."
    return DataError(cause, "Try again when the computer has less to do, or leave out columns or rows.")


def serve() -> None:
    """The process: read one table from the standard input, and write it, or why not, to the standard output."""
    memory, seconds, wall, options = json.loads(sys.stdin.buffer.readline())
    limit_this_process(memory, seconds, wall)
    out = sys.stdout.buffer
    try:
        table, read_as = table_of(sys.stdin.buffer.read(), **options)
        table = table.replace_schema_metadata({"read_as": json.dumps(read_as)})
        with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
            stream.write_table(table)
    except DataError as error:
        refuse(error)
    except MemoryError:
        refuse(DataError(f"Reading the file takes more than {MEMORY >> 20:,} MiB of memory.", SMALLER))
    out.flush()
    os._exit(0)  # nothing is left to be tidied


def refuse(error: DataError) -> None:
    """Tell the parent process why."""
    sys.stdout.buffer.write(json.dumps([error.cause, error.remedy, error.private]).encode())
    sys.stdout.buffer.flush()
    os._exit(REFUSED)


def limit_this_process(memory: int, seconds: int, wall: float) -> None:
    """Let the operating system end this process where it takes too much, or where its parent ended."""
    if sys.platform == "win32":
        return
    import resource

    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        try:  # at a soft limit of the processor it ends by SIGXCPU, at a hard one as by many causes: by SIGKILL
            resource.setrlimit(kind, (most, most + (kind == resource.RLIMIT_CPU)))
        except (ValueError, OSError):  # the administrator's own limit is lower, or the system knows no such limit
            continue
    signal.setitimer(signal.ITIMER_REAL, wall + 1)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a signal when the parent dies
