"""The command `dpcore`: the dashboard, from any folder, as .streamlit/config.toml says; and its commands.

Streamlit finds the file that lies beside app.py by itself, but lets variables of the environment win over it, which may
be there for another app. Here the file's options become flags, over which nothing wins but a flag of the same name.
"""

import argparse
import json
import os
import socket
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from math import inf
from pathlib import Path

from dpcore import __version__
from dpcore.dashboard import FOLDER, hosting
from dpcore.errors import DPCoreError

HOSTING = ("public", "hosted", "uploads", "operator", "login", "limits")  # the server finds them in its environment
Flags = dict[str, list[str]]
COMMANDS = {  # each a module of dpcore.experiment.commands, loaded when it is called
    "schema": "proposes a schema from a table's rows",
    "release": "makes a release by a method's name or by saved settings",
    "compare": "runs a saved comparison",
    "figure": "makes a figure of a paper again",
}
HELP = "`dpcore --help` says what there is."


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the dashboard until it is stopped; the exit code.

    What cannot be understood ends the process with 2 and a message, as do Streamlit's own refusals.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in COMMANDS:
        done: int = import_module(f"dpcore.experiment.commands.{words[0]}").main(words[1:])
        return done
    parser = command()
    try:
        flags, rest = split(words)
    except ValueError as error:
        parser.error(str(error))
    asked, unknown = parser.parse_known_args(rest)
    if strange := [*unknown, *(word for word in asked.words if word not in ("version", "serve"))]:
        parser.error(f"{strange[0]!r} is not known here. {HELP}")
    if "version" in asked.words:
        sys.stdout.write(f"dpcore {__version__}\n")
        return 0
    chosen = {} if asked.port is None else {"server.port": [str(asked.port)]}
    chosen |= {"server.headless": ["true"]} if asked.no_browser else {}
    flags = configured() | chosen | flags
    os.environ.update({f"DPCORE_{name.upper()}": value for name in HOSTING if (value := getattr(asked, name))})
    own = os.environ.get("DPCORE_LOCAL") != "0" and hosting.local(*flags["server.address"])
    os.environ["DPCORE_LOCAL"] = str(int(own))  # whether paths are offered: only behind the guard, as here
    try:
        hosting.refuse_login()
        hosting.limits()
    except DPCoreError as error:
        parser.error(str(error))
    if taken := unusable(flags):
        parser.error(f"{taken} Choose another with --port, or leave it out: then a free one is looked for.")
    return serve(flags, parser)


def command() -> argparse.ArgumentParser:
    """What can be asked for in the command's own words."""
    parser = argparse.ArgumentParser(
        prog="dpcore",
        usage="dpcore [serve] [-h] [--port PORT] [--no-browser] [--public ADDRESS] [--hosted [--uploads] "
        "[--operator WHO] [--limits LIMITS]] [--SECTION.OPTION VALUE ...]\n"
        "       dpcore version | COMMAND ...",
        description="Start the dashboard on this computer and open it in a browser. Ctrl+C ends it.",
        epilog="Every option of Streamlit can be set for one run by its full name, such as --server.maxUploadSize 200. "
        "What is not set is as the dashboard's own config.toml has it: for this computer only, without statistics of "
        "use, and without details of errors, which could show a private cell. Without the dashboard: "
        f"{'; '.join(f'`dpcore {name}` {about}' for name, about in COMMANDS.items())}. Each has a --help. "
        "From a CSV file to a zip, step by step: docs/howto/pipeline.md.",
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="*", metavar="version", help="say which version this is, and end")
    about = "addresses by which browsers reach this server through a proxy, such as https://dp.example.org"
    parser.add_argument("--public", metavar="ADDRESS", help=about)
    about = "for visitors: nothing is kept of a session, no file of this computer is offered, and work has limits"
    parser.add_argument("--hosted", action="store_const", const="1", help=about)
    parser.add_argument("--uploads", action="store_const", const="1", help="visitors may upload tables of their own")
    parser.add_argument("--operator", metavar="WHO", help="who runs this server, as visitors are told")
    parser.add_argument("--login", action="store_const", const="1", help=argparse.SUPPRESS)  # hosting.refuse_login
    about = "of a server for visitors, as name=number,...: " + ", ".join(
        f"{name}={value:g}" for name, value in asdict(hosting.HOSTED).items()
    )
    parser.add_argument("--limits", help=about)
    parser.add_argument("--port", type=port, help="where to listen; by default 8501, or the next port that is free")
    parser.add_argument("--no-browser", action="store_true", help="only say the address")
    return parser


def port(text: str) -> int:
    """A port's number; ArgumentTypeError if it is none."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) <= 65_535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; give a whole number from 1 to 65535")
    return int(text)


def split(arguments: Sequence[str]) -> tuple[Flags, list[str]]:
    """Streamlit's options, whose names have a dot in them, and the other arguments; ValueError without a value."""
    flags: Flags = {}
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, given, value = word.partition("=")
        if not (name.startswith("--") and "." in name):
            rest.append(word)
            continue
        if not given:
            value = next(words, "--")
            if value.startswith("--"):
                raise ValueError(f"{name} has no value. Write it behind the name: {name} VALUE.")
        flags.setdefault(name.removeprefix("--"), []).append(value)
    return flags, rest


def configured() -> Flags:
    """The options of config.toml, as their flags are written."""
    options = tomllib.loads((FOLDER / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    return {name: [value if isinstance(value, str) else json.dumps(value)] for name, value in flattened(options)}


def flattened(options: Mapping[str, object], section: str = "") -> Iterator[tuple[str, object]]:
    """Full names and values of all options in a section."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{section}{name}.")
        else:
            yield f"{section}{name}", value


def unusable(flags: Flags) -> str:
    """Why the port that was asked for cannot be had; nothing if it can, or if none was asked for."""
    (address, *_), (wanted, *_) = flags["server.address"], flags.get("server.port", [""])
    if not wanted.isdigit() or ":" in address:  # Streamlit judges what is no port, and sockets of other kinds
        return ""
    try:
        socket.create_server((address, int(wanted))).close()
    except (OSError, OverflowError) as error:
        return f"Port {wanted} of {address} cannot be had: {getattr(error, 'strerror', None) or error}."
    return ""


def serve(flags: Flags, parser: argparse.ArgumentParser) -> int:
    """Hand over to Streamlit; the exit code."""
    for library in ("OMP", "OPENBLAS", "MKL"):  # visitors share the cores: threads that wait are dear
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    # Arrow's own allocator keeps what threads that are gone have freed: on a quiet server for ever.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if (most := hosting.limits().processes) < inf:
        os.environ["LOKY_MAX_CPU_COUNT"] = str(most)  # so many workers comparisons have
    import click  # what Streamlit's command is made of
    from streamlit.web.cli import main as streamlit

    words = [word for name, values in flags.items() for value in values for word in (f"--{name}", value)]
    try:
        streamlit(
            ["run", str(Path(__file__).with_name("served.py")), *words], prog_name="dpcore", standalone_mode=False
        )
    except click.UsageError as error:
        parser.error(f"{error.format_message()} {HELP}")
    except click.Abort:
        return 130  # Ctrl+C before the server was there
    return 0


if __name__ == "__main__":
    sys.exit(main())
