"""Clusters of columns from a noisy matrix of similarities. Post-processing: no private input, no cost."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from dpcore.arguments import Flags, Floats

Clusters = list[list[int]]
STARTS = 10  # of k-means
# exponents of the repaired affinity are cut there: noise can make a score as large as it likes
STEEPEST = 50.0


def spectral_clusters(
    similarity: Floats,
    k: int,
    rng: np.random.Generator,
    *,
    affinity: str = "fixed",
    sigma: float = 1.0,
    k1: int | None = None,
) -> Clusters:
    """Normalized spectral clustering of d columns into k clusters or fewer.

    Of L = 1 - B^-1/2 W B^-1/2, B the sums of W's rows, the eigenvectors of the `k1` smallest
    eigenvalues (k, unless said) are taken, their rows made as long as 1, and parted by k-means++.

    "published": as Algorithms 1 and 3 of paper 001 print it, W_ij = exp(-s_ij / (2 sigma^2)) of the
    similarities s, with s_ii = 0. "fixed": as Ng, Jordan and Weiss (2001) have it, of the distances
    1 - s (s clipped to [0, 1]), with W_ii = 0, and with the median of all distances for sigma^2.

    Similarities, shape (d, d), are symmetric and noisy, so any numbers; the diagonal is not used.
    """
    d = len(similarity)
    if k <= 1 or d <= k:
        return [[j] for j in range(d)] if k > 1 else [list(range(d))]
    if affinity == "published":
        exponents = -similarity / (2 * sigma**2)
        np.fill_diagonal(exponents, 0.0)
    else:
        distance = 1 - np.clip(similarity, 0, 1)
        width = max(float(np.median(distance[np.triu_indices(d, 1)])), 1e-3)
        exponents = np.maximum(-distance / (2 * width), -STEEPEST)
        np.fill_diagonal(exponents, -np.inf)
    sums = np.logaddexp.reduce(exponents, axis=1)  # of logarithms: no exponent is too large
    laplacian = np.eye(d) - np.exp(exponents - (sums[:, None] + sums) / 2)
    vectors = np.linalg.eigh(laplacian)[1][:, : k1 or k]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    seed = int(rng.integers(2**31))
    # fewer than k different points give fewer clusters, which is fine
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = KMeans(k, n_init=STARTS, random_state=seed).fit_predict(vectors / np.where(lengths > 0, lengths, 1))
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


def contiguous_clusters(groups: list[range], k: int) -> Clusters:
    """Groups of columns in their order, in k clusters or fewer of about as many columns; no group is divided."""
    total = groups[-1].stop if groups else 0
    clusters: dict[int, list[int]] = {}
    for group in groups:
        middle = (group.start + group.stop) / 2
        clusters.setdefault(min(int(middle * k / total), k - 1), []).extend(group)
    return list(clusters.values())


def related_columns(similarity: Floats, eta: float) -> Flags:
    """Which column may take which as a parent (paper 001, eq. 9), from the noisy similarities of a cluster.

    Not those whose similarity is at most `eta` times the best that either of the two has with any
    column.
    """
    if len(similarity) < 2:
        return np.ones(similarity.shape, dtype=bool)
    best = np.where(np.eye(len(similarity), dtype=bool), -np.inf, similarity).max(axis=1)
    return np.asarray((similarity > eta * best[:, None]) & (similarity > eta * best[None, :]))
