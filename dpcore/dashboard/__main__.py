"""The command `dpcore`: the dashboard, from any folder, as .streamlit/config.toml says; and its commands.

Streamlit finds the file that lies beside app.py by itself, but lets variables of the environment win over it, which may
be there for another app. Here the file's options become flags, over which nothing wins but a flag of the same name.
"""

import argparse
import json
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any

from dpcore import __version__
from dpcore.dashboard import FOLDER, hosting

Flags = dict[str, list[str]]
COMMANDS = {  # each a module of dpcore.experiment.commands, loaded when it is called
    "schema": "proposes a schema from a table's rows",
    "release": "makes a release by a method's name or by saved settings",
    "compare": "runs a saved comparison",
    "figure": "makes a figure of a paper again",
}
DEFAULTS = {
    **{f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")},  # visitors share the cores
    # Arrow's own allocator keeps what threads that are gone have freed: on a quiet server for ever.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


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
        options, unknown = parser.parse_known_args(rest)
        if strange := [*unknown, *(word for word in options.words if word not in ("version", "serve"))]:
            raise ValueError(f"{strange[0]!r} is not known here. `dpcore --help` says what there is.")
        if "version" in options.words:
            sys.stdout.write(f"dpcore {__version__}\n")
            return 0
        given = {name: value for name, value in vars(options).items() if value and name != "words"}
        os.environ.update({name: given.pop(name) for name in [*given] if name.startswith("DPCORE_")})
        flags = configured() | {name: [str(value)] for name, value in given.items()} | flags
        own = os.environ.get("DPCORE_LOCAL") != "0" and hosting.local(*flags["server.address"])
        os.environ["DPCORE_LOCAL"] = str(int(own))  # whether paths are offered: only behind the guard, as here
        hosting.refuse_login()
        if (most := hosting.limits().processes) < inf:
            os.environ["LOKY_MAX_CPU_COUNT"] = str(most)  # so many workers comparisons have
    except ValueError as error:
        parser.error(str(error))
    os.environ.update({**DEFAULTS, **os.environ})
    from streamlit.web.cli import main_run

    flat = [word for name, values in flags.items() for value in values for word in (f"--{name}", value)]
    try:
        return main_run.main([str(Path(__file__).with_name("served.py")), *flat], prog_name="dpcore")
    except (OSError, OverflowError) as error:  # an address or a port that cannot be had
        parser.error(str(error))


def command() -> argparse.ArgumentParser:
    """What can be asked for in the command's own words; each goes into a variable, or an option of Streamlit's."""
    parser = argparse.ArgumentParser(
        prog="dpcore",
        usage="dpcore [serve] [OPTION ...] [--SECTION.OPTION VALUE ...] | dpcore version | dpcore COMMAND ...",
        description="Start the dashboard on this computer and open it in a browser. Ctrl+C ends it.",
        epilog="Every option of Streamlit can be set for one run by its full name, such as "
        "--server.maxUploadSize 200. What is not set is as the dashboard's own config.toml has it: for "
        "this computer only, without statistics of use, and without details of errors, which could "
        "show a private cell. Without the dashboard: "
        f"{'; '.join(f'`dpcore {name}` {about}' for name, about in COMMANDS.items())}. Each has a "
        "--help. From a CSV file to a zip, step by step: docs/howto/pipeline.md.",
        allow_abbrev=False,
    )
    limits = ",".join(f"{name}={value:g}" for name, value in asdict(hosting.HOSTED).items())
    on: Any = {"action": "store_const", "const": "1"}
    add = parser.add_argument
    add("words", nargs="*", metavar="version", help="say which version this is, and end")
    about = "addresses by which browsers reach this server through a proxy, such as https://dp.example.org"
    add("--public", dest="DPCORE_PUBLIC", metavar="ADDRESS", help=about)
    about = "for visitors: nothing is kept of a session, no file of this computer is offered, and work has limits"
    add("--hosted", dest="DPCORE_HOSTED", help=about, **on)
    add("--uploads", dest="DPCORE_UPLOADS", help="visitors may upload tables of their own", **on)
    add("--operator", dest="DPCORE_OPERATOR", metavar="WHO", help="who runs this server, as visitors are told")
    add("--login", dest="DPCORE_LOGIN", help=argparse.SUPPRESS, **on)  # hosting.refuse_login
    about = f"of a server for visitors, as name=number,...: {limits}"
    add("--limits", dest="DPCORE_LIMITS", metavar="LIMITS", help=about)
    about = "where to listen; by default 8501, or the next port that is free"
    add("--port", dest="server.port", type=int, metavar="PORT", help=about)
    about = "only say the address"
    add("--no-browser", dest="server.headless", action="store_const", const="true", help=about)
    return parser


def split(arguments: Sequence[str]) -> tuple[Flags, list[str]]:
    """Streamlit's options, whose names have a dot in them, and the other arguments; ValueError without a value."""
    flags: Flags = {}
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if not (name.startswith("--") and "." in name):
            rest.append(word)
        elif equals or not (value := next(words, "--")).startswith("--"):
            flags.setdefault(name.removeprefix("--"), []).append(value)
        else:
            raise ValueError(f"{name} has no value. Write it behind the name: {name} VALUE.")
    return flags, rest


def configured() -> Flags:
    """The options of config.toml, as their flags are written."""
    return flattened(tomllib.loads((FOLDER / ".streamlit" / "config.toml").read_text(encoding="utf-8")))


def flattened(options: Mapping[str, Any], section: str = "") -> Flags:
    """All options in a section, by their full names."""
    flags: Flags = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            flags |= flattened(value, f"{section}{name}.")
        else:
            flags[f"{section}{name}"] = [value if isinstance(value, str) else json.dumps(value)]
    return flags


if __name__ == "__main__":
    sys.exit(main())
