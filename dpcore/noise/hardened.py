"""OpenDP's exact samplers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcore.noise.base import Floats, Noise

__all__ = ["OpenDPNoise"]


class OpenDPNoise(Noise):
    """OpenDP's exact samplers; selection is permute-and-flip (McKenna and Sheldon 2020), under the same bound."""

    on_counts = "discrete laplace"
    label = "OpenDP exact discrete noise, from the operating system's entropy"
    publishable = True

    def __init__(self) -> None:
        import opendp.prelude as opendp

        opendp.enable_features("contrib")
        self._opendp = opendp

    def _measure(self, values: NDArray[Any], scale: float, **domain: Any) -> Floats:
        dp = self._opendp
        kind = domain["T"]
        space = dp.vector_domain(dp.atom_domain(**domain)), dp.l1_distance(T=kind)
        noisy = dp.m.make_laplace(*space, scale=scale)(values.ravel().tolist())
        return np.array(noisy, dtype=np.float64).reshape(values.shape)

    def counts(self, counts: NDArray[np.int64], scale: float) -> Floats:
        """See `Noise.counts`."""
        return self._measure(counts, scale, T="i64")

    def reals(self, values: Floats, scale: float) -> Floats:
        """See `Noise.reals`."""
        return self._measure(values, scale, T="f64", nan=False)

    def select(self, scores: Floats, factor: float) -> NDArray[np.intp]:
        """See `Noise.select`; one draw of about 65 µs per row of scores."""
        dp = self._opendp
        space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.linf_distance(T="f64")
        draw = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=1.0 / factor)
        rows = scores.reshape(-1, scores.shape[-1])
        return np.array([draw(row.tolist()) for row in rows], dtype=np.intp).reshape(scores.shape[:-1])
