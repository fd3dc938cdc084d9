"""Tables of a few categories, as codes and as frames."""

import numpy as np

from dpcore.domain.column import Column
from dpcore.domain.schema import Schema


def categorical(name, size=2, **more):
    return Column(name=name, kind="categorical", categories=tuple(f"v{i}" for i in range(size)), **more)


def schema_of(*sizes):
    return Schema(columns=tuple(categorical(f"x{j}", size) for j, size in enumerate(sizes)))


def frame_of(schema, codes):
    codes = np.asarray(codes, dtype=np.uint8).reshape(-1, len(schema))
    return schema.decode(codes, np.random.default_rng(0))


def random_codes(rng, schema, n):
    return np.asfortranarray(rng.integers(0, schema.sizes, size=(n, len(schema))).astype(np.uint8))
