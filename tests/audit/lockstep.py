"""Fit neighboring tables in lockstep with the same answers, and compute each answer's probability.

Fits run side by side, one per table (a "world"), and stop at every draw of noise. The public facts
of the draw (kind, shape, scale, candidates) must be equal in all worlds. The auditor knows the true
values in every world, sets one answer for all, and computes its probability in each world. Pure
differential privacy bounds the ratio for *every* possible answer, so one path that loses more than
epsilon is a proof. Answers are therefore chosen to lose much, and only sometimes at random. Each
draw may lose what was charged for it, and no more.

Rho      A run in rho bounds whole distributions: their Rényi divergences of every order. Given the
         earlier answers, both distributions of a draw are known. Its divergences are computed, at
         `ORDERS` and in both directions, and compared with its charge; their sum over a path is
         compared with the budget.
Lots     Random numbers per person, apart from all values: who is in which tree, or reports which
         column. Worlds share those of the people in both; the bound must hold for any of them. Only
         a secret (Poisson) sample amplifies. There all random numbers of the changed person are
         tried, in one world each, and the worlds of a table are added up by their probabilities.
Reports  Randomized responses have the channel's own probabilities; its unit tests test the draws.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np
from scipy.special import logsumexp

from dpcore.mechanisms.noise import Noise
from dpcore.mechanisms.randomizers import OLH, OUE, KeepOrDraw

here = threading.local()  # .world: whose thread this is
ROUNDING = 1e-9
ORDERS = (1.001, 1.1, 1.5, 2.0, 4.0, 16.0, 256.0)
STYLES = ("greedy", "greedy", "greedy", "likely", "wide")


class LeakError(AssertionError):
    """Something differs between worlds although they got the same answers."""


class LossError(AssertionError):
    """More was lost than was charged."""


class StoppedError(BaseException):
    """The audit of this pair has ended."""


@dataclass(frozen=True, eq=False)
class Draw:
    """A world's draw: its public facts, the true values, and the charged loss."""

    kind: str
    public: tuple[Any, ...]
    private: Any
    paid: float


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of choices, sorted by group; split points are in [low, high), or NaN."""

    group: np.ndarray
    column: np.ndarray
    low: np.ndarray
    high: np.ndarray
    log_chance: np.ndarray


class World(Noise):
    """Source of noise for one world that lets the auditor draw.

    `people` has the person of each row. If `exact`, noise is discrete and the rounding of scores is
    charged; otherwise it is continuous. It is Gaussian for runs in rho. `coins` say whether the
    changed person is in the secret sample of each tree. If `each_paid`, every draw of counts,
    values or choices has its own ledger entry.
    """

    label = "the auditor's"

    def __init__(self, side, people, *, exact, each_paid, coins=(), distribution="laplace"):
        self.on_counts = f"discrete {distribution}" if exact else distribution
        self.exactly_sampled, self.distribution = exact, distribution
        self.side, self.people = side, people
        self.coins, self.samples = coins, 0
        self.each_paid, self.paid = each_paid, deque()
        self.queries, self.answers = SimpleQueue(), SimpleQueue()
        self.offered, self._cuts = [], np.empty(0)

    def pays(self, ledger, entries):
        """Record the loss of a charge for the whole run, without parallel composition."""
        for entry in entries:
            spent, level = entry.epsilon_bound, ledger
            while level is not None:
                spent, level = level._losses.noise_rule(spent), level._parent
            if entry.draws and (entry.scale < np.inf or entry.mechanism == "exponential"):
                self.paid.append(float(spent))

    def ask(self, kind, public, private):
        """Return the auditor's answer."""
        spent = np.inf
        if self.each_paid and kind != "lots":
            if not self.paid:
                raise LossError(f"Noise is drawn on {kind} that nobody charged for.")
            spent = self.paid.popleft()
        self.queries.put(Draw(kind, public, private, spent))
        answer = self.answers.get()
        if answer is StoppedError:
            raise StoppedError
        return answer

    def variance(self, scale):
        continuous = (2 if self.distribution == "laplace" else 1) * scale * scale
        return super().variance(scale) if self.exactly_sampled else continuous

    def counts(self, counts, scale):
        return self.ask("noisy", (counts.shape, scale, self.exactly_sampled), counts.astype(float))

    def histograms(self, tables, factor, *, public_total):
        return self.ask("histograms", (tuple(table.shape for table in tables), factor, public_total), tables)

    def reals(self, values, scale, *, grid, origin=0.0):
        if not self.exactly_sampled:
            return self.ask("noisy", (values.shape, scale, False, grid, origin), values)
        steps = np.rint((values - origin) / grid)
        return origin + grid * self.ask("noisy", (values.shape, scale / grid, True, grid, origin), steps)

    def select(self, scores, factor):
        rows = scores.reshape(-1, scores.shape[-1])
        return self.ask("select", (scores.shape, factor), rows).reshape(scores.shape[:-1])[()]

    def select_grouped(self, scores, groups, factor, weights=None):
        if self.offered:
            column, low, high = self._offers(groups)
        else:
            column, low, high = np.arange(len(scores)), np.full(len(scores), np.nan), np.full(len(scores), np.nan)
        logits = factor * scores
        if weights is not None:
            with np.errstate(divide="ignore"):
                logits += np.log(weights.part) - np.log(weights.whole)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        logs = np.concatenate([log_softmax(part) for part in np.split(logits, starts[1:])]) if len(starts) else logits
        several = high > low + 1
        logs = logs - np.log(np.where(several, high - low, 1.0))
        indices, points = self.ask("divide", (len(starts), factor), Candidates(groups, column, low, high, logs))
        self._cuts = points[several[indices]]
        return indices

    def _offers(self, groups):
        """Return column and interval of every candidate, in the order of `PrivateNodes.choose`."""
        offered, self.offered = self.offered, []
        nodes, low, high = (np.concatenate([batch[i] for batch in offered]) for i in (1, 2, 3))
        column = np.repeat([batch[0] for batch in offered], [len(batch[1]) for batch in offered])
        order = np.argsort(nodes, kind="stable")
        assert np.array_equal(nodes[order], groups), "The order of candidates is not known to the audit."
        return column[order], low[order], high[order]

    def uniform_integers(self, low, high):
        assert len(low) == len(self._cuts)
        assert ((low <= self._cuts) & (self._cuts < high)).all()
        return self._cuts

    def uniforms(self, count):
        n = len(self.people)
        coin = self.coins[self.samples] if self.coins else None
        self.samples += 1
        return self.ask("lots", (), (count // n if n else None, self.people, coin))


class CutWorld(World):
    """World whose rows are limited per person; `people` are rows before, persons afterwards."""

    def __init__(self, side, people, frame, unit, *, fill, **how):
        super().__init__(side, people, **how)
        self._cut = frame, unit, fill

    def uniforms(self, count):
        rng = super().uniforms(count)
        if self._cut is not None:
            (frame, unit, fill), self._cut = self._cut, None
            persons = unit.persons(frame)
            rows = unit.bound_contributions(persons, rng, fill=fill)
            first = np.searchsorted(persons[rows], persons[rows])
            self.people = frame["who"].to_numpy(dtype=int)[rows] * unit.max_contributions + np.arange(len(rows)) - first
        return rng


class Auditor:
    """Runner of worlds in lockstep; the first world of each side should be the likelier to lose.

    `log_weights` are the log-probabilities of each world's coins. `changed` is the person who is
    missing in some worlds, or has other values. `rate` is the probability of secret samples.
    """

    def __init__(self, worlds, log_weights, changed, rate, rng):
        self.worlds, self.changed, self.rate, self.rng = worlds, changed, rate, rng
        self.logs = np.array(log_weights, dtype=float)
        self.sides = np.array([world.side for world in worlds])
        self.leads = tuple(int(np.flatnonzero(self.sides == side)[0]) for side in (0, 1))
        if rng.random() < 0.5:
            self.leads = self.leads[::-1]
        self.style, self.draws = str(rng.choice(STYLES)), 0
        self.in_rho, self.rho = worlds[0].distribution == "gaussian", np.zeros((2, len(ORDERS)))

    @property
    def loss(self):
        """The log-ratio of the probabilities of all answers on the first and the second table."""
        return float(logsumexp(self.logs[self.sides == 0]) - logsumexp(self.logs[self.sides == 1]))

    def run(self, pool, fits):
        """Return each world's fit or its exception; LeakError if worlds draw different things."""
        futures, wanted = [], []
        for world, fit in zip(self.worlds, fits, strict=True):
            futures.append(pool.submit(in_world, world, fit))
            wanted.append(world.queries.get())
        try:
            while (first := wanted[0]) is not None:
                for draw in wanted:
                    one, other = (each and (each.kind, each.public, each.paid) for each in (first, draw))
                    if one != other:
                        raise LeakError(f"Draw {self.draws} is {one} in one world, {other} in another.")
                before = self.loss
                answers = getattr(self, f"_{first.kind}")(first.public, [draw.private for draw in wanted])
                self.draws += first.kind != "lots"
                lost = abs(self.loss - before)
                if self.in_rho:
                    moved = self._rho_of(first.kind, first.public, [wanted[lead].private for lead in self.leads])
                    self.rho, lost = self.rho + moved, moved.max()
                if lost > first.paid * (1 + ROUNDING) + ROUNDING:
                    raise LossError(f"Draw {self.draws}, {first.kind} of {first.public}: {lost:g} of {first.paid:g}.")
                for i, (world, answer) in enumerate(zip(self.worlds, answers, strict=True)):
                    world.answers.put(answer)
                    wanted[i] = world.queries.get()
            if any(draw is not None for draw in wanted):
                raise LeakError(f"After draw {self.draws}, one world is done and another is not.")
        finally:
            for world in self.worlds:
                world.answers.put(StoppedError)
        return [future.exception() or future.result() for future in futures]

    def _rho_of(self, kind, public, private):
        """Return a draw's Rényi divergences over their orders, in both directions, (2, orders)."""
        one, other = private
        if kind == "noisy":
            scale = public[1]
            return np.full((2, len(ORDERS)), ((one - other) ** 2).sum() / (2 * scale * scale) if scale else 0.0)
        if kind == "lots":
            return np.zeros((2, len(ORDERS)))
        if kind == "divide" and same_places(one, other):
            found = np.zeros((2, len(ORDERS)))
            for group in np.unique(one.group):
                p, q = (each.log_chance[None, each.group == group] for each in (one, other))
                found += [[divergence(*logs, order) for order in ORDERS] for logs in ((p, q), (q, p))]
            return found
        assert kind == "select", f"The audit knows no divergence of {kind}."
        p, q = (log_softmax(public[1] * rows) for rows in (one, other))
        return np.array([[divergence(*logs, order) for order in ORDERS] for logs in ((p, q), (q, p))])

    def _now(self):
        """Return which way to answer: mostly the worst one, sometimes another."""
        return self.style if self.rng.random() < 0.85 else str(self.rng.choice(STYLES))

    def _noisy(self, public, exact):
        (shape, scale, whole, *_), rng = public, self.rng
        one, other = (exact[lead] for lead in self.leads)
        style = self._now()
        if not scale:  # nobody moves these values, so they are given as they are
            if not all(np.array_equal(each, one) for each in exact):
                raise LeakError("Values without noise differ between worlds.")
            return [one.copy() for _ in exact]
        if style == "greedy":
            others = rng.choice([-1.0, 1.0], shape if rng.random() < 0.5 else 1)
            toward = np.where(one == other, others, np.sign(one - other))
            far = rng.exponential(scale * rng.choice([0.1, 1.0, 10.0]), shape)
            found = np.where(toward > 0, np.maximum(one, other), np.minimum(one, other)) + toward * far
        else:
            found = one + rng.laplace(0.0, scale * (1.0 if style == "likely" else 30.0), shape)
        found = (np.rint(found) if whole else found).reshape(shape)
        if self.in_rho:
            self.logs -= [((found - each) ** 2 - (found - one) ** 2).sum() / (2 * scale * scale) for each in exact]
        else:
            self.logs -= [(np.abs(found - each) - np.abs(found - one)).sum() / scale for each in exact]
        return [found.copy() for _ in exact]

    def _histograms(self, public, exact):
        """Move one histogram far off, beyond the changed person; all keep one total."""
        (shapes, factor, public_total), rng = public, self.rng
        one, other = (exact[lead] for lead in self.leads)
        far = [np.rint(rng.laplace(0.0, rng.choice([0.3, 1.0, 10.0]) / factor, shape)) for shape in shapes]
        chosen = rng.integers(len(shapes))
        if self._now() == "greedy":
            toward = np.where(one[chosen] == other[chosen], rng.choice([-1, 1]), np.sign(one[chosen] - other[chosen]))
            far = [np.zeros(shape) for shape in shapes]
            far[chosen] = toward * np.rint(rng.exponential(10 / factor, shapes[chosen]))
        total = 0.0 if public_total else far[chosen].sum()
        for z in far:
            z.flat[rng.integers(z.size)] += total - z.sum()
        found = [table + z for table, z in zip(one, far, strict=True)]
        self.logs -= [factor * longest(found, each, public_total) for each in exact]
        return [[table.copy() for table in found] for _ in exact]

    def _select(self, public, scores):
        _, factor = public
        logs = [log_softmax(factor * rows) for rows in scores]
        one, other = (logs[lead] for lead in self.leads)
        chosen = self._now_best(one, other).argmax(axis=1)
        self.logs += [rows[np.arange(len(rows)), chosen].sum() for rows in logs]
        return [chosen.copy() for _ in scores]

    def _now_best(self, one, other):
        """Return the values to choose by, from the log-probabilities in both leading worlds."""
        style = self._now()
        with np.errstate(invalid="ignore"):
            if style == "greedy":
                keys = one - other
            else:
                keys = (one if style == "likely" else np.zeros_like(one)) + self.rng.gumbel(size=one.shape)
        return np.where(np.isneginf(one), -np.inf, keys)

    def _divide(self, public, offers):
        one = offers[self.leads[0]]
        if all(same_places(one, each) for each in offers):
            keys = self._now_best(one.log_chance, offers[self.leads[1]].log_chance)
            indices = best_of(keys, one.group)
            self.logs += [each.log_chance[indices].sum() for each in offers]
            points = np.where(one.high[indices] > one.low[indices] + 1, self._inside(one, indices), one.low[indices])
            return [(indices.copy(), points.copy()) for _ in offers]
        group, column, point = self._points([offers[lead] for lead in self.leads])
        found = [located(each, group, column, point) for each in offers]
        logs = [np.where(at >= 0, each.log_chance[at], -np.inf) for each, at in zip(offers, found, strict=True)]
        chosen = best_of(self._now_best(*(logs[lead] for lead in self.leads)), group)
        if len(chosen) != public[0]:
            raise LeakError("A group's candidates differ between worlds.")
        self.logs += [each[chosen].sum() for each in logs]
        return [(at[chosen], point[chosen]) for at in found]

    def _inside(self, offer, indices):
        low, high = offer.low[indices], np.maximum(offer.high[indices], offer.low[indices] + 1)
        with np.errstate(invalid="ignore"):
            return np.floor(low + self.rng.random(len(indices)) * (high - low))

    def _points(self, offers):
        """Return split points at the ends of all intervals of some worlds, and inside, by group."""
        parts = []
        for offer in offers:
            at = np.flatnonzero(np.isfinite(offer.log_chance))
            ends = np.where(offer.high[at] > offer.low[at], offer.high[at] - 1, offer.low[at])
            points = offer.low[at], ends, self._inside(offer, at)
            parts += [(offer.group[at], offer.column[at], point) for point in points]
        group, column, point = (np.concatenate([part[i] for part in parts]) for i in range(3))
        order = np.argsort(group, kind="stable")
        return group[order], column[order], point[order]

    def _lots(self, _, wanted):
        each = {count for count, _, _ in wanted if count is not None}
        if len(each) > 1:
            raise LeakError("People have more lots in one world than in another.")
        count = each.pop() if each else 0
        crowd = max(int(people.max(initial=0)) for _, people, _ in wanted) + 1
        table = self.rng.random((crowd, count)) ** float(self.rng.choice([0.2, 1.0, 5.0]))
        table = np.minimum(table, 1 - 2.0**-53)
        answers = []
        for _, people, coin in wanted:
            own = table.copy()
            if coin is not None:
                inside = self.rng.random() * self.rate
                own[self.changed] = inside if coin else self.rate + (1 - self.rate) * self.rng.random()
            answers.append(own[people].ravel())
        return answers

    def _report(self, _, wanted):
        channels, codes = zip(*wanted, strict=True)
        one, other = (codes[lead] for lead in self.leads)
        style = self._now()
        best, most = None, None
        for own in (one, other, one, other, self.rng.integers(0, channels[0].size, len(one)).astype(one.dtype)):
            said = channels[0].report(own, self.rng.random)
            gain = report_chances(channels[0], said, one) - report_chances(channels[0], said, other)
            if best is None:
                best, most = said, gain
            elif style == "greedy":
                better = gain > most
                best, most = np.where(better if said.ndim == 1 else better[:, None], said, best), np.maximum(gain, most)
        self.logs += [report_chances(channels[0], best, own).sum() for own in codes]
        return [best.copy() for _ in codes]


def in_world(world, fit):
    """Run a fit whose noise comes from a world."""
    here.world = world
    try:
        return fit()
    finally:
        here.world = None
        world.queries.put(None)


def divergence(p, q, order):
    """Return the Rényi divergence over its order, from log-probabilities of independent choices."""
    return logsumexp(order * p - (order - 1) * q, axis=1).sum() / (order - 1) / order


def log_softmax(logits):
    """Return log-probabilities of the exponential mechanism along the last axis."""
    return logits - logsumexp(logits, axis=-1, keepdims=True)


def same_places(one, other):
    """Return whether two worlds have the same candidates in the same order."""
    return one is other or all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in ((one.group, other.group), (one.column, other.column), (one.low, other.low), (one.high, other.high))
    )


def best_of(keys, group):
    """Return the index of every group's largest key, without groups whose keys are all -inf."""
    order = np.lexsort((keys, group))
    last = order[np.flatnonzero(np.diff(group[order], append=-1))]
    return last[np.isfinite(keys[last]) | (keys[last] > 0)]


def located(offer, group, column, cut):
    """Return which of a world's candidates contains each split point; -1 if none does."""
    found = np.full(len(group), -1)
    pair, wanted = offer.group * 1_000 + offer.column, group * 1_000 + column
    for each in np.unique(wanted):
        here_, query = np.flatnonzero((pair == each) & np.isfinite(offer.log_chance)), np.flatnonzero(wanted == each)
        if not len(here_):
            continue
        if np.isnan(offer.low[here_[0]]):
            found[query] = here_[0]
            continue
        at = here_[np.maximum(np.searchsorted(offer.low[here_], cut[query], side="right") - 1, 0)]
        inside = (offer.low[at] <= cut[query]) & ((cut[query] < offer.high[at]) | (cut[query] == offer.low[at]))
        found[query] = np.where(inside, at, -1)
    return found


def report_chances(channel, said, codes):
    """Return log-probabilities of reports given the true codes, shape (people,)."""
    codes = codes.astype(np.int64)
    if isinstance(channel, OLH):
        a, b, hashed = said.T
        return report_chances(channel.inner, hashed, (a * codes + b) % ((1 << 31) - 1) % channel.buckets)
    if isinstance(channel, OUE):
        logs = np.where(said, np.log(channel.q), np.log1p(-channel.q))
        own = np.arange(len(codes))
        logs[own, codes] = np.log(0.5)
        return logs.sum(axis=1)
    assert isinstance(channel, KeepOrDraw)
    return np.log(np.where(said == codes, channel.gain, 0.0) + channel.base[said])


def longest(one, other, public_total):
    """Return the largest length among differences of histograms; infinite if totals differ."""
    distance = [here - there for here, there in zip(one, other, strict=True)]
    totals = {z.sum() for z in distance} | ({0.0} if public_total else set())
    return float(max(np.abs(z).sum() for z in distance)) if len(totals) == 1 else np.inf
