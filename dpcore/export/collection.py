"""Randomized answers as they are handed on: a table with a row per person, and the public rules that made it.

A person who has several rows (`Schema.unit`) has as many rows of reports, one below another.
Whoever has the two files learns from them without the rows, on another day and another computer;
that is post-processing, at no cost. The rules are JSON, and both files are checked when they are
read: nothing in them is ever run.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpcore.arguments import Floats, Ints, Progress, no_progress
from dpcore.datasets.reading import read_frame, source_bytes
from dpcore.domain.column import Column
from dpcore.domain.documents import json_text, json_value
from dpcore.domain.schema import Schema
from dpcore.errors import DataError, DPCoreError, ParameterError, SchemaError
from dpcore.export.artifacts import Model, values_of
from dpcore.export.rendering import spreadsheet_csv, spreadsheet_safe
from dpcore.mechanisms.randomizers import ERRPH, OLH, OUE, RRPH, TRR, CategoryChannel, Channel, KeepOrDraw, Warner
from dpcore.methods import METHODS
from dpcore.methods.local.base import WIDEST, LocalClassifier
from dpcore.postprocess.reports import Item, Reports, strip_as_file
from dpcore.text import as_text, finite_or_text, number

FORMAT = "dpcore reports 1"
PERSON = "person"  # the first column; one column alone would be no table
CAUSE = "This file holds no rules of reports that can be read"
REMEDY = "Choose the rules.json of a release that was taken home."
MEND = "Choose the reports.csv and the rules.json of one and the same release."
KINDS: dict[str, Any] = {kind.__name__: kind for kind in (ERRPH, RRPH, Warner, OUE, OLH, TRR)}
SIZED = ("ERRPH", "OUE", "OLH")
MOST_QUESTIONS, FRACTION = 1_000, re.compile(r"[0-9/]{1,200}")
MOST_CELLS = 500_000_000  # reports times values: what bits take in bytes, and hashes in steps
FURTHEST = 1_000  # scales of the noise from the bounds: e^-1000 is no probability
NARROWEST, ROUNDING = 1e-100, 1e-9


@dataclass(frozen=True, eq=False)
class Collection:
    """Local reports, with the facts on how they were made.

    Parameters
    ----------
    reports : Reports
        The randomized answers.
    origin : mapping
        The method, its mode, the relation, the noise, why the guarantee is void, and the claimed
        and proven epsilon, as in the file of a `Model`.
    """

    reports: Reports
    origin: Mapping[str, Any]

    def files(self) -> dict[str, str]:
        """Return the contents of the two files by name: reports.csv and rules.json.

        Do not publish reports that were made with a known seed: who knows the seed can compute the
        true answers. This function cannot tell whether a seed was used.

        Raises
        ------
        ParameterError
            If there is no finite epsilon, because some answers are true ones, or share a random
            draw.
        """
        made = self.reports
        if any(len(group) > 1 for group in made.together) or not math.isfinite(made.largest_epsilon()):
            raise ParameterError("These reports have no finite epsilon.", "Keep them secret: they hold true answers.")
        document = {
            "format": FORMAT,
            "about": {key: finite_or_text(value) for key, value in self.origin.items()},
            "class": made.target,
            "rows": json.loads(made.source.to_json()),
            "answers": json.loads(made.schema.to_json()),
            "recoded": [{"column": name, "codes": codes.tolist()} for name, codes in made.recodings],
            "questions": made.rules(),
        }
        frame = made.frame()
        frame.insert(0, first_of(made), np.arange(made.people) // rows_per_person(made.source) + 1)
        return {"reports.csv": spreadsheet_csv(frame), "rules.json": json_text(document, 2)}

    @classmethod
    def read(
        cls, table: str | PathLike[str] | bytes, rules: str | PathLike[str] | bytes, name: str = "", **limits: Any
    ) -> Self:
        """Open the two files of a release.

        Parameters
        ----------
        table : path or bytes
            reports.csv, or the same reports in another format that `read_frame` reads.
        rules : path or bytes
            rules.json.
        name : str, optional
            The name of the file of reports, if it is given as bytes and is no csv.
        **limits
            Of that file, as for `read_frame`.

        Returns
        -------
        Collection
            The reports.

        Raises
        ------
        SchemaError, DataError
            With a cause and a remedy; never with a cell's value.
        """
        document = json_value(source_bytes(rules), SchemaError, CAUSE, REMEDY)
        try:
            reports, origin = reports_of(document), values_of(document["about"])
            many = [rule["people"] for rule in document["questions"]]
        except DPCoreError as error:
            raise SchemaError(f"{CAUSE}: {error.cause[:1].lower()}{error.cause[1:]}", REMEDY) from None
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
            raise SchemaError(f"{CAUSE}.", REMEDY) from None
        found = fill_reports(reports, read_reports(table, name, header_of(reports), **limits))
        if [len(own) for own in found.values.values()] != many:
            raise DataError("The reports in the table cannot come from the rules of rules.json.", MEND)
        epsilon = found.largest_epsilon() * rows_per_person(found.source)
        if epsilon > origin["epsilon_bound"] * (1 + ROUNDING):
            text = f"By these rules a person's answers can cost epsilon {number(epsilon)}"
            raise SchemaError(f"{text}, and the file states a smaller epsilon.", REMEDY)
        return cls(found, origin)

    @property
    def learners(self) -> list[str]:
        """The names in `METHODS` of all methods that can learn from these reports."""
        local = {name: kind for name, kind in METHODS.items() if issubclass(kind, LocalClassifier)}
        return [name for name, kind in local.items() if not kind().incompatibility(self.reports)]

    def learn(self, method: LocalClassifier, *, progress: Progress = no_progress) -> Model:
        """Learn a classifier from these reports.

        Parameters
        ----------
        method : LocalClassifier
            The unfitted method.
        progress : callable, optional
            Called with a fraction and a text; raising inside it stops.

        Returns
        -------
        Model
            The classifier.

        Raises
        ------
        ParameterError
            If the method cannot learn from them.
        """
        fitted = method.learn(self.reports, progress=progress)
        origin = {**self.origin, "method": f"{fitted.title}, from reports of people", "mode": fitted.mode}
        return Model(contents=fitted.released_artifacts(), schema=fitted.schema_, target=fitted.target_, origin=origin)


def rows_per_person(rows: Schema) -> int:
    """Return the number of reports' rows per person in a schema `rows`: 1, or the most that count."""
    return 1 if rows.persons is None else rows.persons.max_contributions


def reports_of(document: Mapping[str, Any]) -> Reports:
    """Read a questionnaire and its randomizers from a document, as `Reports` without answers.

    The document is the content of rules.json. ValueError if it contradicts itself.
    """
    if document["format"] != FORMAT or not 0 < len(document["questions"]) <= MOST_QUESTIONS:
        raise ValueError
    rows, schema = (Schema.from_json(json.dumps(document[name])) for name in ("rows", "answers"))
    recoded = [(each["column"], np.array(each["codes"])) for each in document["recoded"]]
    for (name, codes), own in zip(recoded, schema if recoded else (), strict=True):
        fits = codes.dtype.kind == "i" and codes.shape == (rows[name].size,)
        if not fits or not 0 <= codes.min() <= codes.max() < own.size:
            raise ValueError
    if rows[document["class"]].numeric or not (recoded or replace(rows, unit=None) == schema):
        raise ValueError
    channels: dict[Item, Channel] = {}
    for rule in document["questions"]:
        family = tuple(map(str, rule["question"]))
        channels[family] = channel_of(rule, [schema[name] for name in family])
    nothing = dict.fromkeys(channels, np.zeros(0))
    found = Reports(schema, 0, channels, nothing, rows=rows, recodings=recoded, target=document["class"])
    if found.rules() != [{**rule, "people": 0} for rule in document["questions"]]:
        raise ValueError
    return found


def channel_of(rule: Mapping[str, Any], columns: Sequence[Column]) -> Channel:
    """Return the randomizer of one question; ValueError or TypeError if it has no finite epsilon.

    `rule` is the question in rules.json, `columns` are the columns that it asks for together.
    """
    name, given = rule["rule"], dict(rule["given"])
    if "epsilon" in given:
        if not FRACTION.fullmatch(given["epsilon"]):  # an exponent may ask for gigabytes of digits
            raise ValueError
        given["epsilon"] = Fraction(given["epsilon"])
    size = math.prod(column.size for column in columns)
    if name != "TRR" and len(rule["values"]) != size:  # before anything of that size is made
        raise ValueError
    channel: Channel = KINDS[name](size, **given) if name in SIZED else KINDS[name](**given)
    if isinstance(channel, TRR):
        (column,) = columns
        width = channel.upper - channel.lower
        if (channel.lower, channel.upper) != (column.lower, column.upper) or not NARROWEST <= width <= WIDEST:
            raise ValueError
    if not math.isfinite(channel.epsilon) or (isinstance(channel, CategoryChannel) and channel.size != size):
        raise ValueError
    return channel


def first_of(reports: Reports) -> str:
    """Return the name of the column with people's numbers, different from all other names."""
    taken, name = {strip_as_file(own) for own in reports.names}, PERSON
    while name in taken:
        name += " number"
    return name


def header_of(reports: Reports) -> list[str]:
    """Return the names of the columns in the file of reports."""
    named = spreadsheet_safe(pd.DataFrame(columns=[first_of(reports), *reports.names]))[0].columns
    return [str(name).strip() for name in named]


def read_reports(table: str | PathLike[str] | bytes, name: str, header: Sequence[str], **limits: Any) -> pd.DataFrame:
    """Read the table of reports as texts, as dpcore or a spreadsheet has written it.

    `name` is the file's name for errors, `header` the expected names of columns, and `limits` are
    arguments of `read_frame`.
    """
    for delimiter in (",", None):  # names of columns may hold what divides other files
        with suppress(DataError) if delimiter else nullcontext():
            frame = read_frame(table, name, missing=("",), decimal=".", delimiter=delimiter, **limits)
            if [str(own).strip() for own in frame.columns] == [*header]:
                return frame
    raise DataError("The columns of the table of reports are not those that rules.json names.", MEND)


def fill_reports(questionnaire: Reports, frame: pd.DataFrame) -> Reports:
    """Return reports of `questionnaire`, with the answers of `frame`, which has a row per person."""
    values, chosen = dict[Item, NDArray[Any]](), dict[Item, Ints]()
    for question, (family, channel) in enumerate(questionnaire.channels.items(), 1):
        cells = frame.iloc[:, question]
        said = cells.dropna().map(as_text)
        if len(said) < len(frame):
            chosen[family] = np.flatnonzero(cells.notna())
        try:
            if isinstance(channel, CategoryChannel):
                if not isinstance(channel, KeepOrDraw) and len(said) * channel.size > MOST_CELLS:
                    raise DataError("The reports have too many people and values.", "Learn from fewer people.")
                labels = spreadsheet_safe(pd.DataFrame({"": questionnaire.labels(family)}))[0][""]
                values[family] = channel.read(said.tolist(), [label.strip() for label in labels])
            else:
                values[family] = numbers(said, channel)
        except (ValueError, LookupError):
            raise DataError(f"A cell of {cells.name!r} cannot come from its rule in rules.json.", MEND) from None
    return replace(questionnaire, people=len(frame), values=values, respondents=chosen)


def numbers(said: pd.Series, channel: Channel) -> Floats:
    """Convert reported texts (`said`) to numbers, with decimal point or comma.

    ValueError if one is no number, or so far out that the randomizer, `channel`, cannot report it.
    """
    assert isinstance(channel, TRR)
    found: Floats = said.str.replace(",", ".").to_numpy().astype(float)
    room = FURTHEST * channel.scale if math.isfinite(channel.scale) else 0.0
    least, most = (channel.lower, channel.upper) if room else (0.0, 0.0)  # at no epsilon everybody says 0
    if not ((found >= least - room) & (found <= most + room)).all():
        raise ValueError
    return found
