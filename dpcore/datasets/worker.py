"""Parse untrusted files in a separate process, limited to 1 GB of memory and 20 seconds of processor time.

A small file may unpack to terabytes, state any size, or trigger a slow path of a parser, and no
check before parsing detects all of that. So the operating system limits the process: its memory by
`RLIMIT_AS`, its processor time by `RLIMIT_CPU`, and its time by the clock (longer on a busy
computer) by an alarm and the waiting parent. The process writes no file, not even a core dump,
which would contain rows. It inherits no environment, and ends with its parent. Where the system has
no such limits, only the parent's clock remains: Windows has no limit of memory, and macOS does not
enforce one.

Bytes go in on the standard input; an Arrow table or a refusal comes out, and nothing is unpickled.
Whatever the parsers print is discarded, because it may quote cells.
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

from dpcore.datasets.formats import parse_table
from dpcore.errors import DataError

MEMORY = 2**30
SECONDS = 20  # of processor time
WALL_SECONDS = 120  # seconds of the clock
REFUSED = 3  # an exit code that neither Python nor a signal gives
CONCURRENT = threading.BoundedSemaphore(2)  # others wait, so that this computer's memory is bounded
# Empty stand-ins for the packages: Python finds their modules, and runs no `__init__.py`.
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
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # other pools reserve more addresses than they use
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
FLAGS = ("-I", "-S", "-B")  # ignore settings of the user and the site, and write no file
HERE = Path(__file__).parent
PACKAGES = {"dpcore": os.fspath(HERE.parent), "dpcore.datasets": os.fspath(HERE)}
INHERITED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")  # to find libraries
SMALLER = "Leave out columns or rows, or save it as plain CSV."


def parse_in_worker(raw: bytes, name: str, options: Mapping[str, Any]) -> tuple[pa.Table, dict[str, str]]:
    """Run `formats.parse_table` in a separate process, with limits of time and memory.

    `raw` are the bytes and `name` is the name of the file; `options` are the other arguments of
    `parse_table`. DataError if the file is refused, or if the process exceeded a limit or crashed.
    """
    order = json.dumps([MEMORY, SECONDS, WALL_SECONDS, {"name": name, **options}]).encode() + b"\n"
    inherited = {key: os.environ[key] for key in INHERITED if key in os.environ}
    with CONCURRENT:
        try:
            done = subprocess.run(
                [sys.executable, *FLAGS, "-c", START],
                input=b"".join([module_paths(), order, raw]),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=WALL_SECONDS,
                env={**inherited, **ENVIRONMENT},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise timeout_error() from None
    if done.returncode == REFUSED:
        raise DataError(*json.loads(done.stdout))
    if os.name == "posix" and done.returncode == -signal.SIGXCPU:
        raise DataError(f"Reading the file takes more than {SECONDS} seconds of processor time.", SMALLER)
    if os.name == "posix" and done.returncode == -signal.SIGALRM:
        raise timeout_error()
    if done.returncode:
        raise DataError(
            f"The file is damaged, or reading it takes more than {MEMORY >> 20:,} MiB of memory.",
            f"Save it again. {SMALLER}",
        )
    with pa.ipc.open_stream(done.stdout, memory_pool=pa.system_memory_pool()) as stream:
        table = stream.read_all()
    read_as: dict[str, str] = json.loads(table.schema.metadata[b"read_as"])
    return table.replace_schema_metadata(), read_as


def module_paths() -> bytes:
    """Return the search paths for modules, and the folders of packages, as a line of JSON."""
    return json.dumps([[os.fspath(Path(path).absolute()) for path in sys.path], PACKAGES]).encode() + b"\n"


def timeout_error() -> DataError:
    """Return the error for a file that was not read within the time limit by the clock."""
    cause = f"Reading the file was not finished after {WALL_SECONDS} seconds by the clock."
    return DataError(cause, "Try again on a less busy computer, or leave out columns or rows.")


def serve() -> None:
    """Run the worker process: read a file from standard input, write its table to standard output.

    If the file is refused, the error is written instead.
    """
    memory, seconds, wall, options = json.loads(sys.stdin.buffer.readline())
    limit_this_process(memory, seconds, wall)
    out = sys.stdout.buffer
    try:
        table, read_as = parse_table(sys.stdin.buffer.read(), **options)
        table = table.replace_schema_metadata({"read_as": json.dumps(read_as)})
        with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
            stream.write_table(table)
    except DataError as error:
        send_refusal(error)
    except MemoryError:
        send_refusal(DataError(f"Reading takes more than {MEMORY >> 20:,} MiB of memory.", SMALLER))
    out.flush()
    os._exit(0)  # there is nothing to clean up


def send_refusal(error: DataError) -> None:
    """Write an error to the parent process, and exit."""
    sys.stdout.buffer.write(json.dumps([error.cause, error.remedy, error.private]).encode())
    sys.stdout.buffer.flush()
    os._exit(REFUSED)


def limit_this_process(memory: int, seconds: int, wall: float) -> None:
    """Set limits of memory and time on this process, and end it when its parent ends.

    `memory` is in bytes, `seconds` of processor time, `wall` of time by the clock.
    """
    if sys.platform == "win32":
        return
    import resource

    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        try:  # a soft limit of processor time ends it by SIGXCPU, a hard one by SIGKILL
            resource.setrlimit(kind, (most, most + (kind == resource.RLIMIT_CPU)))
        except (ValueError, OSError):  # a lower limit exists, or none is possible
            continue
    signal.setitimer(signal.ITIMER_REAL, wall + 1)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: die with the parent
