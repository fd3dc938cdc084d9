"""The command `dpcore`: start the dashboard, or run one of the commands without it.

The dashboard can be started from any folder. Streamlit reads `.streamlit/config.toml` beside
app.py by itself, but environment variables override that file, and they may be meant for another
app. Therefore the options of the file are passed as command-line flags. Nothing overrides a flag
but a later flag of the same name.
"""

import argparse
import json
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any

from dpcore import __version__
from dpcore.dashboard import FOLDER, hosting

CommandFlags = dict[str, list[str]]
COMMANDS = ("schema", "release", "ask", "compare", "figure")  # modules of dpcore.experiment.commands
DEFAULTS = {  # visitors share the cores, and waiting threads are expensive
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    # Arrow's own allocator keeps the freed memory of ended threads: on a quiet server forever.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}  # fmt: skip
VARIABLES = {  # of the environment, set by options of the command: the value's name, and help
    "public": ("ADDRESS", "public address of the server behind a proxy, such as https://dp.example.org"),
    "hosted": (None, "serve visitors: keep no sessions, offer no files of yours, limit work"),
    "uploads": (None, "let visitors upload tables of their own"),
    "operator": ("WHO", "name of who runs this server, shown to visitors"),
    "limits": ("NAME=N,...", f"limits of visitors, such as seconds=60; names: {', '.join(vars(hosting.HOSTED))}"),
    "login": (None, argparse.SUPPRESS),  # hosting.refuse_login
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `dpcore` and return its exit code; serving the dashboard ends with Ctrl+C.

    A wrong command line ends the process with exit code 2 and a message, as in Streamlit itself.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in COMMANDS:
        return int(import_module("dpcore.experiment.commands").main(words[0], words[1:]))
    parser = make_parser()
    try:
        flags, rest = split_streamlit_options(words)
        options, unknown = parser.parse_known_args(rest)
        if strange := [*unknown, *({*options.words} - {"version", "serve"})]:
            raise ValueError(f"{strange[0]!r} is no option or command; `dpcore --help` lists them.")
        if "version" in options.words:
            sys.stdout.write(f"dpcore {__version__}\n")
            return 0
        given = {name: str(value) for name, value in vars(options).items() if value or str(value) == "0"}
        os.environ.update({name: given[name] for name in given if name.startswith("DPCORE_")})
        flags = flags_of_config() | {name: [given[name]] for name in given if "." in name} | flags
        own = os.environ.get("DPCORE_LOCAL") != "0" and hosting.is_local(*flags["server.address"])
        os.environ["DPCORE_LOCAL"] = str(int(own))  # paths are offered only behind the guard
        hosting.refuse_login()
        if (most := hosting.limits().processes) < inf:
            os.environ["LOKY_MAX_CPU_COUNT"] = str(most)  # workers of a comparison
    except ValueError as error:
        parser.error(str(error))
    os.environ.update({**DEFAULTS, **os.environ})
    import click  # on which Streamlit's command is built
    from streamlit.web.cli import main_run

    flat = [f"--{name}={value}" for name, values in flags.items() for value in values]
    script = str(Path(__file__).with_name("server.py"))
    try:
        main_run.main([script, *flat], prog_name="dpcore", standalone_mode=False)
    except click.UsageError as error:
        parser.error(f"{error.format_message()} See `dpcore --help`.")
    except (OSError, OverflowError) as error:  # an address or a port is not available
        parser.error(str(error))
    except click.Abort:
        return 130  # Ctrl+C
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Return the argument parser of `dpcore` itself; commands such as `schema` have their own."""
    parser = argparse.ArgumentParser(
        prog="dpcore",
        usage="dpcore [OPTION ...] | dpcore version | dpcore COMMAND ...",
        description="Start the dashboard on this computer, and open it in a browser. Ctrl+C stops it.",
        epilog="Options of Streamlit work by full names: --server.maxUploadSize 200. Commands "
        "without the dashboard: `dpcore schema` proposes a schema of a table, `dpcore release` makes a "
        "release, `dpcore ask` estimates statistics, `dpcore compare` compares methods, `dpcore figure` "
        "makes a figure of a paper. Each has a --help. docs/howto/pipeline.md leads from a CSV file to a release.",
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="*", metavar="version", help="print the version")
    for name, (value, about) in VARIABLES.items():
        style: Any = {"metavar": value} if value else {"action": "store_const", "const": "1"}
        parser.add_argument(f"--{name}", dest=f"DPCORE_{name.upper()}", help=about, **style)
    about = "port of the dashboard (default: 8501, or the next free one)"
    parser.add_argument("--port", dest="server.port", type=int, metavar="PORT", help=about)
    style = {"action": "store_const", "const": "true", "help": "print the address; open no browser"}
    parser.add_argument("--no-browser", dest="server.headless", **style)
    return parser


def split_streamlit_options(arguments: Sequence[str]) -> tuple[CommandFlags, list[str]]:
    """Split command-line arguments into Streamlit's options and all other arguments.

    An option of Streamlit has a dot in its name, such as `--server.port`.

    Returns
    -------
    Streamlit's options as {name without dashes: values}, and the other arguments in their order.

    Raises
    ------
    ValueError
        If an option of Streamlit has no value.
    """
    flags: CommandFlags = {}
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if not (name.startswith("--") and "." in name):
            rest.append(word)
        elif equals or not (value := next(words, "--")).startswith("--"):
            flags.setdefault(name.removeprefix("--"), []).append(value)
        else:
            raise ValueError(f"{name} has no value. Write the value after the name: {name} VALUE.")
    return flags, rest


def flags_of_config() -> CommandFlags:
    """Return the options of `.streamlit/config.toml` as Streamlit's command-line options."""
    return flatten_options(tomllib.loads((FOLDER / ".streamlit/config.toml").read_text(encoding="utf-8")))


def flatten_options(options: Mapping[str, Any], section: str = "") -> CommandFlags:
    """Flatten nested options into {dotted full name: [value as text]}, below `section`."""
    flags: CommandFlags = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            flags |= flatten_options(value, f"{section}{name}.")
        else:
            flags[f"{section}{name}"] = [value if isinstance(value, str) else json.dumps(value)]
    return flags


if __name__ == "__main__":
    sys.exit(main())
