"""Sources of noise as pages offer them: what each is called, and what is said of it."""

from collections.abc import Callable, Mapping
from typing import Any

from dpcore.domain.schema import Schema
from dpcore.extras import there
from dpcore.language import phrase
from dpcore.mechanisms.noise import TEACHING

NOISES = {
    "auto": phrase("Exactly sampled (for publication)"),
    "laplace": phrase("NumPy, continuous (teaching)"),
    "geometric": phrase("NumPy, whole numbers (teaching)"),
}
FALLBACK = {"auto": phrase("NumPy (teaching): exactly sampled noise is not installed")}
INSTALL = phrase(
    'Exactly sampled noise needs the package opendp, which is not installed (`pip install "dpcore[publish]"`): '
    "NumPy's continuous noise will be used, for teaching."
)


def as_here(sources: Mapping[str, str]) -> Callable[[Any, Schema], Mapping[str, str]]:
    """Sources of noise by what they are here: without OpenDP, nothing is called exactly sampled."""
    return lambda _method, _schema: sources if there("opendp") else {**sources, **FALLBACK}


def taught(method: Any, _: Schema) -> str:
    """What a source of noise is not good for."""
    if method.noise != "auto":
        return TEACHING
    if method.random_state is not None:
        return phrase("Exactly sampled noise takes no seed: NumPy's continuous noise will be used, for teaching.")
    return "" if there("opendp") else INSTALL
