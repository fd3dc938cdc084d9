r"""DTPD: ID3 on records of bits that were sent unchanged or flipped (compared with in paper 004).

Idea      Every answer is one bit, and so is the class. Each person sends all bits unchanged with
          probability theta, and otherwise the complement of every bit. The shares of records with
          given values of some bits can be estimated from the reports. ID3 needs nothing else.

Steps, as published (mode="published")
  1  Every column becomes a bit: whether the value is in the second half of the
     column's bins, of its categories in the schema's order, or of the groups
     below its taxonomy's root. k classes become ceil(log2 k) bits.             recode, no loss
  2  groups="one": all bits unchanged with probability theta, otherwise all
     complements.                                                              unprotected, all
     groups="each": every bit separately.                                       randomize, each
  3  Let E be a conjunction of bits within a group, E' the conjunction of their
     complements, and P* the reports' shares:
     P(E) = (theta P*(E) - (1 - theta) P*(E')) / (2 theta - 1).
     Over several groups these inverses multiply. For each group in E, a report
     counts theta / (2 theta - 1) if it agrees with all of E there, and
     -(1 - theta) / (2 theta - 1) if it agrees with nothing, and otherwise 0.
     P(E) is the mean of the products.                                          post-processing
  4  ID3: the bit of the largest information gain splits a node, until no bit
     is left or all classes are equal. Estimates are hardly ever exactly equal:
     here nodes end at depth 10 and below .001 of the people. Estimates are
     moved into [0, 1], and classes scaled to sum to 1.                         post-processing

Steps, corrected (mode="corrected"): all reports of one person cost epsilon
  2  Each of the r bits separately, with
     theta = e^(epsilon / r) / (1 + e^(epsilon / r)).                    randomize, epsilon / r
  4  A bit splits a node only if the reports show that the bit depends on the
     class there (`certainty`). Otherwise ID3 takes noise for gains, and grows a
     tree of leaves without information. Nodes end at depth 5, below .02 of the
     people, and below .05 bits of entropy.                                     post-processing

Privacy   Local.
  Public    the schema, its taxonomies, theta; who takes part.
  2, each   Warner's randomizer of a bit: |ln (theta / (1 - theta))|. The r bits of a record add up.
  2, one    A report is the record or its complement. Two records that are neither equal nor
            complements have no report in common, so a report distinguishes them with certainty, and
            no epsilon holds.

What the paper claims, and where it is wrong
  The paper claims no epsilon. Theta hides a record against its complement only. So randomizing all
  bits together only hides whether a person is x or exactly the opposite in everything, which hardly
  anyone is. Groups of one bit do have an epsilon, and the error of P(E) grows with
  1 / (2 theta - 1) for every bit in E.

Reference  Du and Zhan, Using randomized response techniques for privacy-preserving data mining, KDD
           2003. Warner, Randomized response, JASA 1965. Quinlan, Induction of decision trees, 1986.
"""

from collections.abc import Mapping, Sequence
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.accounting.relation import exact
from dpcore.arguments import Floats, Progress
from dpcore.domain.column import Column
from dpcore.domain.schema import Schema
from dpcore.domain.splits import Groups, attributes_of
from dpcore.door import PrivateTable
from dpcore.errors import ParameterError
from dpcore.language import phrase, say
from dpcore.mechanisms.randomizers import Warner
from dpcore.methods.local.base import (
    LEAST,
    PAGES,
    REASONS,
    LocalSplit,
    LocalTree,
    Node,
    StopRule,
    Survey,
    entropy,
    grow,
)
from dpcore.methods.parameters import choice, controls_of, number, presets_of
from dpcore.postprocess.forest import Forest
from dpcore.postprocess.reports import Questionnaire, Reports, families

SPLITS = {"cuts": "values", "children": "halves"}
LEAST_GAIN = 1e-6  # of |2 theta - 1|; with less, no number of people is enough for an estimate


def bit_epsilon_note(method: Any, _: Schema) -> str:
    """Return a note with the local epsilon of one bit; infinite with groups="one".

    Bits that are flipped together show for sure whether two of them are equal.
    """
    epsilon = {"each": abs(log(method.theta / (1 - method.theta))), "one": inf}[method.groups]
    return say("Local epsilon of one bit: **{epsilon:.2f}**. At theta = 1/2, reports are pure noise.", epsilon=epsilon)


class DTPD(LocalTree):
    """Decision tree learned from randomized bits (local DP).

    Du and Zhan 2003: as published, and corrected. See the module for steps and privacy.

    Parameters
    ----------
    theta
        As published: the probability that bits are sent unchanged. Not 1/2, where reports carry no
        information.
    groups
        As published: whether all bits are kept or flipped together ('one'), or each bit separately
        ('each').
    min_entropy
        Nodes with a smaller entropy of the classes, in bits, are leaves; by default 0 as published,
        .05 in corrected mode.
    certainty
        Corrected mode: the least distance from 0, in standard errors, of the covariance of a bit
        that splits a node with a class there. 0 needs none, as published. The default 3 comes from
        the bundled sample and simulated data: with less, trees of small epsilons grow on noise
        alone, and predict worse than the majority class.
    """

    reference = phrase("Du and Zhan 2003")
    provable_published = "none, or per bit (none claimed)"
    presets = presets_of(PAGES, "DTPD")
    controls = controls_of(PAGES["DTPD"], theta={"note": bit_epsilon_note})
    theta: float = number(default=0.7, maximum=1, open="(")
    groups: str = choice(default="one", options=("one", "each"))
    min_entropy: float | None = number(default=None)
    certainty: float = number(default=3.0)

    def _check(self, schema: Schema) -> None:
        """Raise ParameterError if the schema does not fit, or `theta` is 1/2."""
        super()._check(schema)
        if self.theta == 0.5:
            raise ParameterError("'theta' must not be 1/2, where reports carry no information.", "Try 0.7.")

    def _survey(self, table: PrivateTable) -> Survey:
        """Return one question to people per bit, and the rules that turn columns into bits."""
        encoding = BitEncoding(table.schema, self._target(table.schema, self.target))
        items, paper = families(encoding.schema.names), self._published
        channel = Warner(p=float(self.theta)) if paper else Warner(epsilon=exact(self.epsilon) / len(items))
        together = [items] if paper and self.groups == "one" else []
        questions = Questionnaire(dict.fromkeys(items, channel), together=together)
        return questions, dict.fromkeys(items, REASONS[self.groups]), encoding.schema, encoding.rules

    def incompatibility(self, reports: Reports) -> str:
        """Return why DTPD cannot learn from `reports`, or an empty text if it can."""
        encoding = BitEncoding(reports.source, reports.target)
        thetas = {channel.p if isinstance(channel, Warner) else None for channel in reports.channels.values()}
        items, pairs = families(encoding.schema.names), zip(encoding.rules, reports.recodings, strict=False)
        fits = (
            len(thetas) == 1
            and None not in thetas
            and (reports.schema, [*reports.channels], len(reports.recodings))
            == (encoding.schema, items, len(encoding.rules))
            and all(rule[0] == own[0] and np.array_equal(rule[1], own[1]) for rule, own in pairs)
            and not reports.respondents
        )
        return "" if fits else "The method needs one randomized bit for every column."

    def _learn(self, progress: Progress) -> None:
        """Estimate shares of conjunctions of bits, and grow the tree by ID3."""
        reports, paper = self.reports_, self._published
        encoding, items = BitEncoding(reports.source, reports.target), [*reports.channels]
        channel = reports.channels[items[0]]
        assert isinstance(channel, Warner)
        bits = np.stack([reports.values[item] for item in items], axis=1)
        tied = [items.index(item) for group in reports.together for item in group]
        shares = ConjunctionShares(bits, [tied] if tied else [[bit] for bit in range(len(items))], channel.p)
        least = (0.0 if paper else 0.05) if self.min_entropy is None else self.min_entropy
        self.forest_ = id3(shares, encoding, self._stop_rule(least), progress, 0.0 if paper else float(self.certainty))


class BitEncoding:
    """Public encoding of a schema's columns as bits.

    `schema` has one column per bit; a source column with a single value has no bit. `rules` are
    those of `PrivateTable.recode`. `bit_of` maps a source column's position to its bit, and
    `classes` lists the values of the class bits for every class.
    """

    def __init__(self, source: Schema, target: str) -> None:
        """Derive the bits of all columns of `source` but `target`, and those of its classes."""
        self.source, self.target, columns = source, target, list[Column]()
        self.rules: list[tuple[str, NDArray[np.int64]]] = []
        self.bit_of: dict[int, int] = {}
        for position, attribute in attributes_of(source, target, **SPLITS).items():
            assert isinstance(attribute, Groups)
            if attribute.fans[0] == 2:
                self.bit_of[position] = len(columns)
                names, known = tuple(attribute.names[index] for index in attribute.children[0]), attribute.column
                columns.append(Column(name=known.name, kind="ordered", categories=names, origin=known.origin))
                self.rules.append((attribute.column.name, attribute.child_of[0].astype(np.int64)))
        label = source[target]
        width, start = max((label.size - 1).bit_length(), 1), len(columns)
        for shift in reversed(range(width)):
            name, values = f"{target} bit {width - shift}", ("0", "1")
            if width == 1:
                name, values = target, (label.labels[0], label.labels[-1] if label.size == 2 else "(nothing else)")
            while name in {column.name for column in columns}:
                name += "'"
            columns.append(Column(name=name, kind="ordered", categories=values, origin=label.origin))
            self.rules.append((target, np.arange(label.size) >> shift & 1))
        self.schema = Schema(columns=tuple(columns), source=source.source, max_rows=source.max_rows)
        self.classes = [{start + i: code >> (width - 1 - i) & 1 for i in range(width)} for code in range(label.size)]


class ConjunctionShares:
    """Estimated shares of people with given values of some bits, from reports of shape (n, bits).

    The bits of a group were kept together with probability `theta`, or flipped together. Every bit
    is in one group.
    """

    def __init__(self, bits: NDArray[Any], groups: Sequence[Sequence[int]], theta: float) -> None:
        """Count distinct records of `bits`; `groups` were kept with probability `theta`."""
        packed = np.packbits(bits.astype(bool), axis=1)
        _, first, counts = np.unique(packed, axis=0, return_index=True, return_counts=True)
        self.people, self.counts = len(bits), counts.astype(float)
        self.bits = np.ascontiguousarray(bits[first].T.astype(np.uint8))  # shape (bits, distinct records)
        self.group = {bit: index for index, group in enumerate(groups) for bit in group}
        gain = 2 * theta - 1
        self.kept, self.flipped = (theta / gain, (theta - 1) / gain) if abs(gain) > LEAST_GAIN else (0.5, 0.5)

    def weights(self, literals: Mapping[int, int]) -> Floats:
        """Return each distinct record's weight for a conjunction, shape (distinct records,).

        `literals` maps bits to the values that they must have. The mean over all records estimates
        the conjunction's share.
        """
        found = np.ones(len(self.counts))
        for index in {self.group[bit] for bit in literals}:
            agree = [self.bits[bit] == value for bit, value in literals.items() if self.group[bit] == index]
            same, none = np.logical_and.reduce(agree), ~np.logical_or.reduce(agree)
            found *= self.kept * same + self.flipped * none
        return found

    def share(self, literals: Mapping[int, int]) -> float:
        """Return the unbiased share of people whose bits have the values `literals`; may be < 0."""
        return self.mean(self.weights(literals))

    def mean(self, weights: Floats) -> float:
        """Return the mean over all records of weights of distinct records."""
        return float(self.counts @ weights) / max(self.people, 1)

    def certainty(self, among: Mapping[int, int], first: Mapping[int, int], second: Mapping[int, int]) -> float:
        """Return the covariance of two conjunctions, in standard errors, without its sign.

        `first`, `second` and `among` map bits to values: a conjunction holds for people who have
        all of them. The covariance of `first` and `second` is taken among the people for whom
        `among` holds.
        """
        base = self.weights(among)
        share = self.mean(base)
        if share <= 0:
            return 0.0
        one, other, both = (self.weights({**among, **more}) for more in (first, second, {**first, **second}))
        a, b = (min(max(self.mean(found) / share, 0.0), 1.0) for found in (one, other))
        # each record's contribution, for shares a and b
        each = both - a * other - b * one + a * b * base
        mean = self.mean(each)
        variance = self.mean(each**2) - mean * mean
        return abs(mean) / float(np.sqrt(variance / self.people)) if variance > 0 else 0.0


def id3(shares: ConjunctionShares, encoding: BitEncoding, stop: StopRule, progress: Progress, least: float) -> Forest:
    """Return the decision tree that ID3 grows from estimated shares of conjunctions.

    `encoding` says which bit stands for which column, and `stop` limits which nodes are split. A
    node's state holds the bits on the way to it. A bit splits a node only if the bit's covariance
    with a class there is at least `least` standard errors from 0; 0 switches this test off.
    """

    def class_shares(literals: Mapping[int, int]) -> Floats:
        """Return the share of people of each class among all for whom `literals` hold."""
        return np.clip([shares.share({**literals, **own}) for own in encoding.classes], 0.0, 1.0)

    # of two classes, both have the same certainty
    tested = encoding.classes[:1] if len(encoding.classes) == 2 else encoding.classes

    def best_split(node: Node) -> LocalSplit | None:
        """Return the split by the bit of largest information gain; None for a leaf."""
        best, most = None, 0.0
        for position, bit in encoding.bit_of.items():
            if bit in node.state:
                continue
            if least and max(shares.certainty(node.state, {bit: 1}, own) for own in tested) < least:
                continue
            halves = [{**node.state, bit: value} for value in (0, 1)]
            classes = np.stack([class_shares(half) for half in halves])
            total = float(classes.sum())
            if not total:
                continue
            # compare children with the sum of their own estimates, not with the node's own estimate
            gain = float(entropy(classes.sum(axis=0)) - (classes.sum(axis=1) / total) @ entropy(classes))
            if gain > most + LEAST:
                best, most = LocalSplit(position, np.nan, shares.people * classes, halves), gain
        return best

    people = shares.people * class_shares({})
    return grow(encoding.source, encoding.target, people, {}, best_split, stop, progress, splits=SPLITS)
