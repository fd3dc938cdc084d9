"""Decision trees from estimated tables of classes, for methods that never see a true count.

`trees` grows them and makes a `Forest` of them. `booleans` has ID3 on bits that were kept or turned round, and
`intervals` trees on intervals that reports with noise were given to. Everything here is post-processing of reports.
"""

from dpcore.methods.local.estimated.booleans import Booleans, Conjunctions, id3
from dpcore.methods.local.estimated.intervals import VARIANTS, Reconstruction, cells_of
from dpcore.methods.local.estimated.trees import Division, Node, Stops, entropy, gini, grow

__all__ = [
    "VARIANTS",
    "Booleans",
    "Conjunctions",
    "Division",
    "Node",
    "Reconstruction",
    "Stops",
    "cells_of",
    "entropy",
    "gini",
    "grow",
    "id3",
]
