"""Test the container image without a container engine: build its stages, start it, and check it.

    python scripts/image.py FOLDER      as root, on Linux; FOLDER is empty or from an earlier call

A stage starts as a Debian of the base image's name, made by debootstrap; its own Python replaces
that of the base image. Then the instructions of the Dockerfile run as written, so that the test
cannot differ from the image. The last stage is started as in compose.yaml: read-only except for its
volume and /tmp, as its user, without capabilities, and without any network. Its health check must
pass, nothing else may be writable, and no build tool may be left. If this Python has Playwright and
the computer Chromium, a release is made in it through the browser.
"""

import ctypes
import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
MIRROR = "http://deb.debian.org/debian"
SYSTEM = "python3,python3-venv,ca-certificates"
PATIENCE = 120  # seconds until the health check must pass
OPTION = re.compile(r"--(\w[\w-]*)=(\S+)\s+")
PROBE = """
import os, pathlib, shutil
found = {"uid": os.getuid(), "tools": [name for name in ("gcc", "cc", "make", "ld", "git") if shutil.which(name)]}
found["written"] = []
for place in ("/", "/opt/dpcore", "/etc", "/usr", "/state", "/tmp"):
    try:
        (pathlib.Path(place) / "probe").write_text("")
        found["written"].append(place)
    except OSError:
        pass
status = pathlib.Path("/proc/self/status").read_text()
found |= {key: status.partition(key + ":")[2].split()[0] for key in ("CapEff", "CapBnd", "NoNewPrivs")}
import json; print(json.dumps(found))
"""


@dataclass
class Stage:
    """One stage of the image: its root folder and its settings from the Dockerfile."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "0:0"
    volumes: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)

    def local_path(self, path: str) -> Path:
        """Return the path on this computer of a path in the image."""
        return self.root / os.path.normpath(os.path.join(self.workdir, path)).lstrip("/")  # noqa: PTH118


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile with their arguments, with joined lines."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


def is_sent(name: str, patterns: list[str]) -> bool:
    """Return whether .dockerignore lets a file into the build context; the last match decides."""
    kept, parts = True, name.split("/")
    for pattern in patterns:
        wanted = pattern.removeprefix("!")
        paths = ["/".join(parts[: i + 1]) for i in range(len(parts))]
        paths = list(parts) if wanted.startswith("**/") else paths
        if any(fnmatch.fnmatchcase(path, wanted.removeprefix("**/")) for path in paths):
            kept = pattern.startswith("!")
    return kept


def context() -> list[str]:
    """Return the files of the build context: those that git tracks, or would add."""
    patterns = [line for line in (HERE / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    names = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(names, cwd=HERE, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in listed if (HERE / name).is_file() and is_sent(name, patterns)]


def begin_stage(image: str, folder: Path, number: int) -> Stage:
    """Return a new stage on a clean Debian, with the Python that the base image's tag names."""
    wanted, suite = re.fullmatch(r"python:(\d+\.\d+)\.\d+-slim-(\w+)", image).groups()
    base = folder / f"debian-{suite}"
    if not base.exists():
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={SYSTEM}", suite, base, MIRROR], check=True)
    stage = Stage(folder / f"stage-{number}")
    shutil.rmtree(stage.root, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", base, stage.root], check=True)
    found = run_inside(stage, ["python3", "-c", "import sys; print('{}.{}'.format(*sys.version_info))"]).strip()
    if found != wanted:
        raise SystemExit(f"Debian {suite} has Python {found}, and the base image {wanted}.")
    return stage


def run_inside(stage: Stage, words: list[str]) -> str:
    """Run a program in a stage as root, with network access, and return its output."""
    for name in ("/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt"):
        if Path(name).exists():
            shutil.copyfile(name, stage.root / name[1:])
    own = {name: value for name, value in os.environ.items() if name.startswith("PIP_") and name != "PIP_FIND_LINKS"}
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", **own, **stage.env}
    mounts = 'mount -t proc none "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" /usr/bin/env -C "$@"'
    command = ["unshare", "--mount", "--", "/bin/sh", "-c", mounts, str(stage.root), stage.workdir, *words]
    done = subprocess.run(command, env=env, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}.\n{done.stdout[-3000:]}")
    return done.stdout


def copy_files(stage: Stage, rest: str, stages: dict[str, Stage]) -> None:
    """Execute a COPY instruction: copy files of the context, or paths of another stage."""
    options, words = dict(OPTION.findall(rest)), OPTION.sub("", rest).split()
    *sources, target = words
    index = stage.local_path(target)
    if "from" in options:
        for source in sources:
            index.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", stages[options["from"]].local_path(source), index], check=True)
        return
    names = context()
    for source in sources:
        chosen = [name for name in names if source == "." or name == source or name.startswith(f"{source}/")]
        if not chosen:
            raise SystemExit(f"COPY {source}: .dockerignore leaves nothing of it.")
        for name in chosen:
            (index / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(HERE / name, index / name)


def build_stages(folder: Path) -> Stage:
    """Build every stage of the Dockerfile in order, and return the last one."""
    stages: dict[str, Stage] = {}
    stage: Any = None
    for word, rest in instructions((HERE / "Dockerfile").read_text()):
        start = time.monotonic()
        match word:
            case "FROM":
                image, _, name = rest.partition(" AS ")
                stage = stages[name or "last"] = begin_stage(image, folder, len(stages))
            case "ENV":
                stage.env |= dict(pair.split("=", 1) for pair in shlex.split(rest))
            case "WORKDIR":
                stage.workdir = rest
                stage.local_path(".").mkdir(parents=True, exist_ok=True)
            case "COPY":
                copy_files(stage, rest, stages)
            case "RUN":
                run_inside(stage, ["/bin/sh", "-c", rest])
            case "USER":
                stage.user = rest
            case "VOLUME":
                stage.volumes.append(rest)
            case "HEALTHCHECK":
                stage.health = json.loads(rest.partition("CMD ")[2])
            case "CMD":
                stage.command = json.loads(rest)
            case "EXPOSE":
                pass
            case _:
                raise SystemExit(f"The instruction {word} is not known here.")
        print(f"{time.monotonic() - start:6.1f} s  {word} {rest[:90]}", flush=True)
    return stage


def run_locked(stage: Stage, *words: str) -> list[str]:
    """Return a command that runs a program in the last stage as its user, without capabilities."""
    uid, gid = stage.user.split(":")
    env = [f"{name}={value}" for name, value in stage.env.items()]
    bare = [
        "--bounding-set=-all",
        "--inh-caps=-all",
        "--no-new-privs",
        f"--reuid={uid}",
        f"--regid={gid}",
        "--clear-groups",
    ]
    # setpriv is a program of the stage: chroot needs root, so the user changes after it
    return ["chroot", str(stage.root), "setpriv", *bare, "env", "-i", "-C", stage.workdir, *env, *words]


def watch_start(stage: Stage) -> None:
    """Start the image in namespaces of its own, and check its health and its permissions."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(*words: str) -> None:
        subprocess.run(["mount", *words], check=True)

    if libc.unshare(0x00020000 | 0x40000000):  # CLONE_NEWNS, CLONE_NEWNET
        raise OSError(ctypes.get_errno(), "unshare")
    root = str(stage.root)
    mount("--make-rprivate", "/")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    mount("--bind", root, root)
    mount("-t", "proc", "none", f"{root}/proc")
    mount("--rbind", "/dev", f"{root}/dev")
    mount("-t", "tmpfs", "-o", "size=64m,mode=1777", "none", f"{root}/dev/shm")
    mount("-t", "tmpfs", "-o", "size=512m,mode=1777,nosuid,nodev,noexec", "none", f"{root}/tmp")
    for number, volume in enumerate(stage.volumes):
        target = stage.root.parent / f"volume-{number}"
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", stage.local_path(volume), target], check=True)  # as an engine fills a new volume
        mount("--bind", str(target), str(stage.local_path(volume)))
    mount("-o", "remount,bind,ro", root)
    start = time.monotonic()
    with subprocess.Popen(run_locked(stage, *stage.command)) as server:
        try:
            while subprocess.run(run_locked(stage, *stage.health), check=False, capture_output=True).returncode:
                if server.poll() is not None or time.monotonic() - start > PATIENCE:
                    raise SystemExit("It did not become healthy.")
                time.sleep(0.5)
            seconds = time.monotonic() - start
            probe = subprocess.run(
                run_locked(stage, "python3", "-c", PROBE), check=True, capture_output=True, text=True
            )
            found = json.loads(probe.stdout)
            status = Path(f"/proc/{server.pid}/status").read_text()
            memory = int(status.partition("VmRSS:")[2].split()[0]) / 1024
            make_release()
        finally:
            server.terminate()
    size = int(subprocess.run(["du", "-smx", root], check=True, capture_output=True, text=True).stdout.split()[0])
    print(f"healthy after {seconds:.1f} s; {memory:.0f} MB of memory; {size:,} MB of files; {found}")
    wanted = {"tools": [], "uid": int(stage.user.split(":")[0]), "written": [*stage.volumes, "/tmp"], "NoNewPrivs": "1"}
    wrong = {key: found[key] for key in wanted if found[key] != wanted[key]}
    wrong |= {key: found[key] for key in ("CapEff", "CapBnd") if int(found[key], 16)}
    if wrong:
        raise SystemExit(f"This should be otherwise: {wrong}")


def make_release() -> None:
    """Make a release through the browser, in the network shared by this program and the server."""
    sys.path.insert(0, str(HERE))
    try:
        from playwright.sync_api import sync_playwright

        from scripts.screenshots import chromium, launch
    except ImportError:
        print("no release was made: Playwright is not installed")
        return
    program = chromium()
    if program is None:
        print("no release was made: Chromium is not on PATH")
        return
    with sync_playwright() as playwright:
        browser = launch(playwright, program)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.goto("http://127.0.0.1:8501")
        page.get_by_role("button", name="Try it now").click()
        page.get_by_text("It can cost up to").first.wait_for()
        print("a release was made through the browser")
        browser.close()


if __name__ == "__main__":
    where = Path(sys.argv[1]).resolve()
    where.mkdir(parents=True, exist_ok=True)
    watch_start(build_stages(where))
