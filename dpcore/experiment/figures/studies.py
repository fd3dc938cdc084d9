"""What the runs of figures are scored by that sweeps are not, and on which data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
import pandas as pd

from dpcore import evaluate
from dpcore.accounting.ledger import Ledger
from dpcore.arguments import Progress
from dpcore.datasets import Content, Dataset
from dpcore.domain.column import Codes
from dpcore.domain.range_query import RangeQuery
from dpcore.domain.taxonomy_tree import Hierarchy
from dpcore.evaluate import disclosure
from dpcore.experiment.study import Run, Study
from dpcore.methods import TaxonomyRelease
from dpcore.postprocess import count_tree

ALL = "all rows"
QUERIES = 500
DEEPEST = 3  # columns that are divided more and more often


def whole(data: Dataset) -> Dataset:
    """Return the data set with its test rows added to its training rows, as paper 001 uses it.

    All rows are charged to the same ledger. A public `max_rows` that is too small for them is
    doubled, because their exact number would be private.
    """
    rows, bound = pd.concat([data.train_sample, data.test_sample], ignore_index=True), data.schema.max_rows
    while bound and bound < len(rows):
        bound *= 2
    schema = replace(data.schema, max_rows=bound)
    content = data.content or Content.from_rows(data.train_sample, data.test_sample)
    how: dict[str, Any] = {"token": f"{data.token} {ALL}", "schema": schema, "content": content}
    return replace(data, name=f"{data.name}, {ALL}", train=rows, test=data.test_sample.head(0), **how)


def label_of(data: Dataset) -> evaluate.Label | None:
    """Return the yes/no label that paper 001 predicts: a column and a condition on its values.

    For Big5 it is an age below 50, else the last class (for Adult an income above 50k); None
    without a class column with categories.
    """
    if data.name == "big5":
        return evaluate.Label(column="age", below=50)
    target = data.schema.target
    if target is None or data.schema[target].numeric:
        return None
    return evaluate.Label(column=target, equals=data.schema[target].categories[-1])


@dataclass
class RangeErrors(Study):
    """Study of how far a released count tree's answers to range queries are off.

    Columns take turns in splitting, so that the leaves, groups of cells, are public and equal for
    all methods but DiffGen. The queries are sums of these groups.
    """

    rows: int | None = 0
    public: Mapping[str, Any] = field(default_factory=dict)  # how the groups are made

    @cached_property
    def queries(self) -> list[RangeQuery]:
        """Range queries: sums of the public groups, the same in every process."""
        schema, nobody = self.data.schema, self.data.train_sample.head(0)
        public = TaxonomyRelease(with_class=False, **self.public).fit(nobody, schema=schema).tree_
        return count_tree.group_queries(public, QUERIES)

    @cached_property
    def codes(self) -> Codes:
        """The training rows' codes, encoded once for all runs."""
        return self.data.schema.encode(self.data.train_sample)

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        """Return the error of every range query on the training rows.

        The rows are those of `evaluate.range_queries`.
        """
        schema, series = self.data.schema, run.labels["method"].split(" | ")[0]
        answers = {series: evaluate.range_answers(run.method, self.queries, schema)}
        return evaluate.range_queries(self.codes, answers, schema, self.queries)


@dataclass
class MeanError(RangeErrors):
    """Study of the mean error of range queries on the columns with the deepest taxonomies.

    Errors are numbers of rows. The queries are sums of groups of the shallowest tree among the
    runs, and so of leaves of every deeper tree.
    """

    def __post_init__(self) -> None:
        schema, least = self.data.schema, min(run.labels["depth"] for run in self.runs)
        size = {column.name: (Hierarchy.from_column(column).depth, column.size) for column in schema}
        deepest = sorted(schema.names, key=size.__getitem__, reverse=True)[:DEEPEST]
        self.data = replace(self.data, schema=schema.select(deepest))
        self.public = {"max_per_attribute": least}

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        """Return the mean error as `metric` and `value`."""
        found = super().values(run, synthetic)
        return pd.DataFrame([{"metric": "mean error", "value": found["absolute"].mean()}])


@dataclass
class Risk(Study):
    """Study of how much a release of padded rows discloses about the real ones.

    The real rows are padded with random ones up to the largest number of rows among the runs.
    """

    def __post_init__(self) -> None:
        schema, most = self.data.schema, max(run.labels["rows"] for run in self.runs)
        self.target, self.schema = schema.target or "", replace(schema, max_rows=most)
        self.known = [name for name in schema.names if name != self.target][:4]
        real, rng = self.data.train_sample, np.random.default_rng(1)
        padded = disclosure.pad_rows(real, self.schema, most, rng)
        # categories are encoded once per value
        self.padded = padded.astype({name: "category" for name, kind in padded.dtypes.items() if kind.kind == "O"})

    def values(self, run: Run, synthetic: pd.DataFrame) -> pd.DataFrame:
        """Return the share of real rows whose class is disclosed (`disclosure.cap`), as "CAP"."""
        found = disclosure.cap(self.data.train_sample, synthetic, self.schema, self.target, self.known)
        return pd.DataFrame([{"metric": "CAP", "value": found}])

    def release(self, run: Run, ledger: Ledger | None, progress: Progress) -> pd.DataFrame:
        """Fit the method on a random sample of the padded rows, and sample as many synthetic rows."""
        rows, order = run.labels["rows"], np.random.default_rng([run.labels["repeat"], 0]).permutation(len(self.padded))
        frame = self.padded.iloc[order[:rows]].reset_index(drop=True)
        found: pd.DataFrame = run.method.fit(frame, schema=self.schema, ledger=ledger, progress=progress).sample(rows)
        return found


@dataclass
class Fit(Study):
    """Study of the run time of a fit by the number of rows, or by the share of the columns.

    Rows are sampled with replacement if the data set has too few of them. So only methods without a
    finite proven epsilon may be studied by rows.
    """

    def __post_init__(self) -> None:
        if most := max(run.labels.get("rows", 0) for run in self.runs):
            rows = self.data.train_sample.sample(most, replace=True, random_state=1, ignore_index=True)
            self.data = replace(self.data, train=rows, schema=replace(self.data.schema, max_rows=most))

    def release(self, run: Run, ledger: Ledger | None, progress: Progress) -> pd.DataFrame:
        """Fit the method, and return no rows: only the time of the fit counts."""
        names, rows = self.data.schema.names, self.data.train
        schema = self.data.schema.select(names[: ceil(run.labels.get("share", 1) * len(names))])
        rows = rows.iloc[: run.labels["rows"]] if "rows" in run.labels else rows
        run.method.fit(rows, schema=schema, ledger=ledger, progress=progress)
        return pd.DataFrame()


KINDS = {kind.__name__: kind for kind in (Study, RangeErrors, MeanError, Risk, Fit)}
