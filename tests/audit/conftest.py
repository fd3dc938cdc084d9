"""Control every source of randomness of a fit: the auditor draws noise; the rest is shared."""

import os
import random
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from lockstep import here
from planted import falsely
from variants import alike

import dpcore.methods.base
from dpcore.accounting.ledger import Ledger
from dpcore.door import ranks
from dpcore.door.exact_node_counts import NodeRows
from dpcore.mechanisms import noise
from dpcore.mechanisms.randomizers import ERRPH, OLH, OUE, Warner
from dpcore.methods import METHODS


@pytest.fixture(scope="session")
def pool():
    with ThreadPoolExecutor(max_workers=16) as found:
        yield found


@pytest.fixture
def door(monkeypatch):
    """Replace the door's noise by the auditor's; other sources of noise fail."""
    here.world = None
    fresh = np.random.default_rng

    def public_lots(_, stream):
        assert stream, "The door's noise was drawn by somebody else."
        return fresh(np.random.SeedSequence(here.seed, spawn_key=(stream,)))

    def refuse(*_, **__):
        raise AssertionError("A source of randomness that the audit does not know.")

    monkeypatch.setattr(ranks, "MOST_CELLS", 1 << 8)  # the audit looks at each
    original = noise.generator
    assert list(METHODS.values())  # all of them are imported before names in their modules are replaced
    for module in [module for name, module in sys.modules.items() if name.split(".")[0] == "dpcore"]:
        if vars(module).get("generator") is original:
            monkeypatch.setattr(module, "generator", public_lots)
    monkeypatch.setattr(dpcore.methods.base, "make_noise", lambda *_: here.world)
    monkeypatch.setattr(np.random, "default_rng", lambda *given: fresh(*given) if given else refuse())
    for name in ("token_bytes", "token_hex", "randbits", "randbelow"):
        monkeypatch.setattr(secrets, name, refuse)
    monkeypatch.setattr(os, "urandom", refuse)
    for channel in (ERRPH, Warner, OUE, OLH):
        falsely(channel, "report", reported)(monkeypatch)
    falsely(NodeRows, "candidates", candidates)(monkeypatch)
    falsely(Ledger, "charge", charged)(monkeypatch)
    before = random.getstate(), np.random.get_state()[1:3]  # noqa: NPY002
    yield
    assert alike((random.getstate(), np.random.get_state()[1:3]), before)  # noqa: NPY002


def reported(honest, self, codes, lots):
    if (world := getattr(here, "world", None)) is None:
        return honest(self, codes, lots)
    public = type(self), self.size, float(self.epsilon), self.base.tobytes(), codes.dtype, len(codes)
    return world.ask("report", public, (self, codes))


def candidates(honest, self, position, nodes, *ranges):
    for batch in honest(self, position, nodes, *ranges):
        here.world.offered.append((position, batch.nodes, batch.low, batch.high))
        yield batch


def charged(honest, self, *entries):
    honest(self, *entries)
    if getattr(here, "world", None) is not None:
        here.world.pays(self, entries)
