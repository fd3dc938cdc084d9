"""Ways to run a method, and sources of noise, that the dashboard offers."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from dpcore.domain.schema import Schema
from dpcore.language import phrase
from dpcore.mechanisms.noise import TEACHING, exactly_sampled

INFERRED = phrase("The schema was inferred from the private rows: the guarantee is void.")
WRONG = phrase("The paper's proof is wrong. The ledger will show what can be proved.")
NO_NOISE = phrase("No noise at all. For comparison on this screen only.")
NOISES = {
    "auto": phrase("Exactly sampled (for publication)"),
    "laplace": phrase("NumPy, continuous (teaching)"),
    "geometric": phrase("NumPy, whole numbers (teaching)"),
}


@dataclass(frozen=True)
class Preset:
    """A method with parameters that differ from its own."""

    label: str  # among the variants of its page and mode
    mode: str = "corrected"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    remark: str = WRONG  # published mode: what is to be known of the source's proof
    holds: bool = False  # whether that is good news
    within: str = ""  # the one relation that it holds under; empty: all


def both(
    corrected: str, paper: str, remark: str = WRONG, *, holds: bool = False, within: str = ""
) -> tuple[Preset, Preset]:
    """A method in both modes, with its own parameters."""
    return Preset(corrected), Preset(paper, "published", remark=remark, holds=holds, within=within)


def presets_of(table: Mapping[str, Any], kind: str) -> tuple[Preset, ...]:
    """What a family's file offers of a class."""
    return tuple(Preset(**row) for row in table["presets"][kind])


def void_reason(method: Any, schema: Schema) -> str:
    """Why a run would have no guarantee, or not the printed one, in a sentence; empty if it would have it."""
    if schema.source == "inferred":
        return phrase("none: the schema was read off the rows.")
    if method.random_state is not None:
        return phrase("none: anyone who knows the seed can subtract the noise.")
    if method.mode == "published" and not any(offer.holds and offered(method, offer) for offer in method.presets):
        return phrase("not as published: the ledger will show what can be proven.")
    return ""


def noise_of(method: Any) -> str:
    """Of which grade a run's noise would be, as `grade` says it of a release. References have no corrected version."""
    sampled = exactly_sampled(method.noise, method.random_state)
    return grade("corrected" not in method.modes, sampled, method.mode)


def grade(noiseless: bool, sampled: bool, mode: str) -> str:
    """Whether noise is exactly sampled, whatever is proved besides."""
    if noiseless:
        return phrase("none at all. Never to be published.")
    if not sampled:
        return phrase("not exactly sampled, and for teaching only. Draw exactly sampled noise before you publish.")
    if mode == "published":
        return phrase("exactly sampled noise, but for what the source draws by itself.")
    return phrase("exactly sampled noise.")


def offered(method: Any, offer: Preset) -> bool:
    """Whether a method's mode, relation and parameters are those of an offer."""
    fits = offer.mode == method.mode and offer.within in ("", method.relation)
    return fits and all(getattr(method, name) == value for name, value in offer.parameters.items())


def taught(method: Any, _: Schema) -> str:
    """What a source of noise is not good for."""
    if method.noise in ("laplace", "geometric"):
        return TEACHING
    if method.noise == "auto" and method.random_state is not None:
        return phrase("Exactly sampled noise takes no seed: NumPy's continuous noise will be used, for teaching.")
    return ""
