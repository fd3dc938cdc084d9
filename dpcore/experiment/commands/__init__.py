"""The commands of `dpcore` that need no dashboard, one module each, and their common parts.

`commands.toml` has the arguments of each command, and the `make` of its module carries it out. Exit
codes: 0 done; 1 refused or failed, with cause and remedy on stderr; 2 wrong command line. Progress
goes to stderr.
"""

import argparse
import ast
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Any

from dpcore import datasets
from dpcore.accounting.relation import exact
from dpcore.accounting.store import LedgerStore
from dpcore.datasets import DATASETS, Dataset, schema_formats
from dpcore.datasets.reading import MAX_BYTES, source_bytes
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, DPCoreError, ParameterError, SchemaError
from dpcore.evaluate.evaluator import Method
from dpcore.experiment.figures import all_figures
from dpcore.methods import METHODS
from dpcore.methods.base import PrivateEstimator
from dpcore.methods.parameters import Parameter
from dpcore.text import finite_or_text, read_toml

CODES = "Exit codes: 0 done; 1 refused or failed, and stderr says why; 2 wrong command line."
READING = ("delimiter", "encoding", "decimal")
TABLES = read_toml(Path(__file__).with_name("commands.toml"))
TYPES: dict[str, Any] = {"int": int, "float": float, "Path": Path}
CHARGED = "Each run is charged to your ledger file (DPCORE_LEDGER) before noise is drawn, and refused above a cap."


def make_parser(name: str) -> argparse.ArgumentParser:
    """Return the argument parser of a command, as declared in `commands.toml`."""
    own = TABLES[name]
    words = {"datasets": "; ".join(DATASETS), "methods": ", ".join(METHODS), "figures": ", ".join(all_figures())}
    parser = argparse.ArgumentParser(
        prog=f"dpcore {name}",
        description=f"{own['about']} {own.get('charges', CHARGED)}",
        epilog=f"{own.get('epilog', '').format(**words)} {CODES}".strip(),
        usage="\n       ".join(own.get("usage", ())) or None,
        allow_abbrev=False,
    )
    groups: dict[str, Any] = {"": parser}
    for part in ("all", *own.get("shares", ()), name):
        for argument, given in TABLES[part]["arguments"].items():
            style = given | {"help": given["help"].format(**words)}
            kind, group = style.pop("type", ""), style.pop("one_of", "")
            style |= {"type": TYPES.get(kind, kind.format)} if kind else {}
            if group not in groups:
                groups[group] = parser.add_mutually_exclusive_group()
            groups[group].add_argument(argument, **style)
    parser.set_defaults(**own.get("defaults", {}))
    return parser


def reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the given options for text files (delimiter, encoding, decimal) for `datasets.read`."""
    return {name: value for name in READING if (value := getattr(options, name)) is not None}


def main(name: str, arguments: Sequence[str]) -> int:
    """Carry out the command `name` and return its exit code; print why if it fails."""
    parser = make_parser(name)
    options = parser.parse_intermixed_args(arguments)
    try:
        return int(import_module(f"{__name__}.{name}").make(options))
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    except (DPCoreError, OSError) as error:
        sys.stderr.write(f"{error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. What was charged before stays charged.\n")
    return 1


def load_rows(options: argparse.Namespace, named: str, saved: Schema | None) -> Dataset:
    """Return the data set of a command: the table of its options, or a data set of the package.

    Parameters
    ----------
    options
        The command's options. `--schema` takes precedence over `saved`.
    named
        Name of the data set in the saved settings, if the options name no table.
    saved
        Schema of the saved settings, if any.

    Raises
    ------
    DPCoreError
        If there are no rows or no schema. A schema is inferred only with `--infer-schema`.
    """
    schema = None if options.infer_schema else saved
    if options.schema:
        schema = schema_formats.read(source_bytes(options.schema, MAX_BYTES))[0].schema()
    source = options.data or named
    if source in DATASETS:
        if options.infer_schema:
            raise ParameterError(f"The data set {source!r} has a declared schema.", "Leave out --infer-schema.")
        data = datasets.load(source)
        schema = data.schema if schema is None else schema
        return replace(data, schema=replace(schema, target=options.target or schema.target))
    if not options.data:
        raise DataError(f"The settings do not contain the rows of {named!r}.", "Add the file of these rows as TABLE.")
    if schema is None and not options.infer_schema:
        raise SchemaError(
            f"No schema is given for the table {options.data}.",
            "Give --schema FILE: `dpcore schema TABLE` proposes one, for you to declare.",
        )
    how = {"target": options.target, "test_share": options.test_share, **reading_options(options)}
    data = datasets.read(options.data, schema=schema, **how)
    if data.schema.source == "inferred":
        sys.stderr.write("The schema was inferred from the rows: no guarantee holds.\n")
    return data


def parse_parameters(kind: type[PrivateEstimator], pairs: Sequence[str]) -> dict[str, Any]:
    """Return all parameters of a class of methods, some of them given as texts NAME=VALUE.

    Raises
    ------
    ParameterError
        If a parameter or a value is not known, or epsilon is missing.
    """
    known, split = kind.parameters(), [pair.partition("=") for pair in pairs]
    given = {name: parse_value(text, known.get(name)) for name, _, text in split}
    if len(given) < len(split):
        raise ParameterError("A parameter is given twice.", "Give each once, by its own option or by --set.")
    if "epsilon" not in given:
        raise ParameterError("No privacy budget is given.", "Add --epsilon NUMBER.")
    parameters: dict[str, Any] = kind(**given).get_params()
    for name, parameter in known.items():
        parameter.check(name, parameters[name])
    return parameters


def parse_value(text: str, parameter: Parameter | None) -> Any:
    """Return the value that a text on the command line stands for: a word, a number, or a tuple.

    `parameter` is the declaration of the method's parameter, if known. The value is checked later.
    """
    if getattr(parameter, "kind", "") == "str" or text in getattr(parameter, "options", ()):
        return text
    try:
        word = text.lower() in ("true", "false", "none")
        return ast.literal_eval(text.capitalize() if word else text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


def require_budget(store: LedgerStore, data: Dataset, methods: Iterable[Method]) -> None:
    """Raise `BudgetError` if a cap would stop one of these methods' runs, before any is charged.

    `store` is the user's ledger file. Only runs whose proven loss equals their epsilon are checked;
    all others are checked at every charge.
    """
    needs: dict[tuple[str, float], Any] = {}
    for method in methods:
        if method.mode == "corrected" and method.random_state is None and 0 < method.epsilon < math.inf:
            arguments = method.relation, method.delta
            needs[arguments] = needs.get(arguments, 0) + exact(method.epsilon)
    for (relation, delta), epsilon in needs.items():
        store.require_room(data, relation, float(epsilon), delta)


def require_writable(path: Path, *, force: bool) -> None:
    """Raise `DataError` if a file cannot be written, or exists and `force` is false."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise DataError(f"{path} is a folder, or its folder does not exist.", "Name a file in an existing folder.")
    if path.exists() and not force:
        raise DataError(f"{path} exists already.", "Choose another name, or replace it with --force.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise DataError(f"{path} cannot be written.", "Choose a folder where you may write.")


def write(path: Path, content: bytes, *, force: bool) -> None:
    """Write a file in one step, so that no other program reads an incomplete file.

    Raises
    ------
    DataError
        If another program wrote the file meanwhile, unless `force` is true.
    """
    part = path.with_name(f".{path.name}.{token_hex(4)}")
    with part.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if path.exists() and not force:  # written during the run, which is charged by now
        raise DataError(f"Another program wrote {path} during this command.", f"The result is in {part}.")
    part.replace(path)


def print_summary(options: argparse.Namespace, done: Mapping[str, Any], lines: str) -> None:
    """Print what a command did: as one JSON object with `--json`, else as text.

    `done` has the facts by name for JSON, and `lines` is the text.
    """
    if options.json:
        plain = {key: finite_or_text(value) for key, value in done.items()}
        lines = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(f"{lines}\n")


class ProgressLine:
    """Progress on stderr: one line that changes on a terminal, or a line per tenth in a log file."""

    def __init__(self) -> None:
        self.tenth = -1

    def __call__(self, fraction: float, text: str) -> None:
        """Print the progress, a share in [0, 1], and the present step."""
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{fraction:4.0%} {text:<60.60}{'' if fraction < 1 else chr(10)}")
        elif int(10 * fraction) != self.tenth:
            self.tenth = int(10 * fraction)
            sys.stderr.write(f"{fraction:4.0%} {text}".rstrip() + "\n")
        sys.stderr.flush()


progress_line = ProgressLine()
