from itertools import product

import numpy as np
from partitions import bits_of

from dpcore.accounting.ledger import Ledger
from dpcore.datasets.catalog import adult_schema, big5_schema
from dpcore.domain.column import Column, code_dtype
from dpcore.domain.partition import Binarization
from dpcore.domain.schema import Schema
from dpcore.door import PrivateTable
from dpcore.mechanisms.noise import NoNoise


def of_sizes(*sizes, names=None):
    names = names or [f"c{i}" for i in range(len(sizes))]
    columns = [
        Column(name=name, kind="integer", lower=0, upper=size - 1, bins=size)
        for name, size in zip(names, sizes, strict=True)
    ]
    return Binarization(Schema(columns=tuple(columns), max_rows=99))


def random_codes(schema, n, seed=0):
    codes = np.random.default_rng(seed).integers(0, schema.sizes, size=(n, len(schema)))
    return np.asfortranarray(codes.astype(code_dtype(max(schema.sizes))))


def test_the_bits_of_the_published_schemas():
    for schema, bits in ((adult_schema(), 52), (big5_schema(), 175)):
        binarization = Binarization(schema)
        assert len(binarization.schema) == len(binarization.rules) == bits
        assert set(binarization.schema.sizes) == {2}
        assert (binarization.schema.max_rows, binarization.schema.source) == (schema.max_rows, schema.source)
        assert [index for group in binarization.groups for index in group] == list(range(bits))
        codes = random_codes(schema, 300)
        decoded, exists = binarization.decode(bits_of(binarization, codes))
        assert exists.all()
        np.testing.assert_array_equal(decoded, codes)


def test_the_most_significant_bit_comes_first_and_names_differ():
    binarization = of_sizes(6, 2, 1)
    assert binarization.schema.names == ("c0 bit 1", "c0 bit 2", "c0 bit 3", "c1 bit 1", "c2 bit 1")
    assert binarization.groups == (range(3), range(3, 4), range(4, 5))
    bits = bits_of(binarization, np.array([[5, 1, 0], [3, 0, 0]], dtype=np.uint8))
    assert bits.tolist() == [[1, 0, 1, 1, 0], [0, 1, 1, 0, 0]]
    names = of_sizes(4, 4, 4, names=["a", "a bit 1", "a bit 1 bit 1"]).schema.names
    assert len(set(names)) == len(names) == 6


def test_every_code_comes_back_and_every_other_pattern_is_flagged_in_its_own_column():
    """A column of each size between two others, all its patterns at once."""
    for size in (*range(1, 10), 255, 256, 257):
        binarization = of_sizes(3, size, 4)
        width = len(binarization.groups[1])
        assert width == max(1, int(np.ceil(np.log2(size))))
        patterns = np.array(list(product((0, 1), repeat=width)), dtype=np.uint8)
        fixed = np.tile(np.array([[1, 0]], dtype=np.uint8), (len(patterns), 1))
        codes, exists = binarization.decode(np.hstack([fixed, patterns, fixed]))
        assert exists[:, [0, 2]].all()
        assert exists[:, 1].tolist() == [True] * size + [False] * (2**width - size)
        assert codes[:, 1].tolist() == list(range(size)) + [0] * (2**width - size)
        assert set(codes[:, [0, 2]].ravel().tolist()) == {2}
        whole = codes[exists.all(axis=1)]
        np.testing.assert_array_equal(bits_of(binarization, whole)[:, binarization.groups[1]], patterns[:size])
    nothing = np.zeros((0, 2), dtype=np.uint8)
    assert bits_of(of_sizes(3, 5), nothing).shape == (0, 5)
    assert [found.shape for found in of_sizes(3, 5).decode(np.zeros((0, 5), dtype=np.uint8))] == [(0, 2)] * 2


def test_recoding_behind_the_door_is_encoding():
    schema = of_sizes(1, 2, 3, 300, 7).source
    binarization, codes = Binarization(schema), random_codes(schema, 200, seed=1)
    table = PrivateTable(codes, schema, Ledger("replace"), NoNoise(), unprotected_allowed=True)
    recoded = table.recode(binarization.schema, binarization.rules)
    assert recoded.schema is binarization.schema
    assert not table.ledger.entries
    bits = recoded.read_unprotected("to compare", claimed_epsilon=0)
    np.testing.assert_array_equal(bits, bits_of(binarization, codes))
