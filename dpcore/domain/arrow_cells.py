"""Codes of a batch of cells in Arrow's memory, by the rule of the column.

A code hangs on its own cell alone. So equal cells are understood once: a dictionary costs a look-up per cell, and
numbers are compared with the cuts as they lie in memory, without an object for any.
"""

import numpy as np
import pyarrow as pa

from dpcore.domain.coding import Coded
from dpcore.domain.column import Column


def coded_cells(column: Column, cells: pa.Array) -> Coded:
    """As `Column.coded`, of cells that are numbers, truth values, or a dictionary of whatever they are."""
    numeric = pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type)
    if numeric and column.numeric and column.kind != "date":
        numbers = cells.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        return column.coded_numbers(numbers, np.isnan(numbers))
    if not pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_encode()
    words = cells.dictionary
    places = cells.indices.fill_null(len(words)).to_numpy()
    values = pa.concat_arrays([words, pa.nulls(1, words.type)]).to_pandas()  # the last is of missing cells
    found = column.encode_counting_misfits(values, np.bincount(places, minlength=len(values)))
    return Coded(found.codes[places], None if found.numbers is None else found.numbers[places], found.misfits)
