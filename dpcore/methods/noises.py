"""Sources of noise as pages offer them: what each is called, and what is said of it."""

from typing import Any

from dpcore.domain.schema import Schema
from dpcore.language import phrase
from dpcore.mechanisms.noise import TEACHING

NOISES = {
    "auto": phrase("Exactly sampled (for publication)"),
    "laplace": phrase("NumPy, continuous (teaching)"),
    "geometric": phrase("NumPy, whole numbers (teaching)"),
}


def taught(method: Any, _: Schema) -> str:
    """What a source of noise is not good for."""
    if method.noise in ("laplace", "geometric"):
        return TEACHING
    if method.noise == "auto" and method.random_state is not None:
        return phrase("Exactly sampled noise takes no seed: NumPy's continuous noise will be used, for teaching.")
    return ""
