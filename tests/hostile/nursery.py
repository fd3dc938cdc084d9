"""A process that has loaded what a reader of files loads, and forks one for every file: a fresh one takes a second."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from dpcore.datasets import worker

NURSERY = """
import os
from dpcore.datasets import delimited_text, parquet, workbooks
for line in sys.stdin.buffer:
    order, answer = json.loads(line)
    if not (child := os.fork()):
        try:
            os.dup2(os.open(order, os.O_RDONLY), 0)
            os.dup2(os.open(answer, os.O_WRONLY), 1)
            sys.stdin = open(0)
            serve()
        finally:
            os._exit(1)
    _, status, used = os.wait4(child, 0)
    memory = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps([os.waitstatus_to_exitcode(status), memory, used.ru_utime + used.ru_stime]), flush=True)
"""


class Nursery:
    """`run` stands in for `subprocess.run` where `worker` starts its process; what the last one used is kept."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.memory, self.seconds = folder, 0, 0.0
        command = [sys.executable, *worker.FLAGS, "-c", worker.START.replace("\nserve()\n", NURSERY)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, env={**os.environ, **worker.ENVIRONMENT}, **pipes)
        self.tell(worker.module_paths())
        os.mkfifo(folder / "answer")  # a reader may write no file

    def tell(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def run(self, command: list[str], *, input: bytes, **_: object) -> subprocess.CompletedProcess[bytes]:
        (self.folder / "order").write_bytes(input.removeprefix(worker.module_paths()))
        self.tell(json.dumps([str(self.folder / "order"), str(self.folder / "answer")]).encode() + b"\n")
        said = (self.folder / "answer").read_bytes()
        assert self.process.stdout
        code, self.memory, self.seconds = json.loads(self.process.stdout.readline())
        return subprocess.CompletedProcess(command, code, said)

    def close(self) -> None:
        self.process.communicate(timeout=60)
