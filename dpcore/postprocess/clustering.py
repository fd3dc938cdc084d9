"""Clusters of columns from a noisy matrix of similarities. Post-processing: no private input, no cost."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from dpcore.arguments import Flags, Floats

Clusters = list[list[int]]
STARTS = 10  # of k-means
STEEPEST = 50.0  # exponents beyond it are cut: noise can make a score as large as it likes


def spectral_clusters(similarity: Floats, k: int, rng: np.random.Generator, *, affinity: str = "fixed") -> Clusters:
    """Normalized spectral clustering (Ng, Jordan and Weiss 2001) of d columns into k clusters or fewer.

    W_ij = exp(-x_ij / (2 sigma^2)) with sigma^2 the median of x over all pairs. For "fixed" x is the distance
    1 - similarity (the similarity clipped to [0, 1]); for "paper" x is the similarity itself, as printed in paper 001.
    Similarities, shape (d, d), are symmetric and noisy, so any numbers; the diagonal is not used.
    """
    d = len(similarity)
    if k <= 1 or d <= k:
        return [[j] for j in range(d)] if k > 1 else [list(range(d))]
    distance = 1 - np.clip(similarity, 0, 1) if affinity == "fixed" else similarity
    width = max(float(np.median(distance[np.triu_indices(d, 1)])), 1e-3)
    weights = np.exp(np.clip(-distance / (2 * width), -STEEPEST, STEEPEST))
    np.fill_diagonal(weights, 0)
    scale = 1 / np.sqrt(weights.sum(axis=1))
    laplacian = np.eye(d) - weights * np.outer(scale, scale)
    vectors = np.linalg.eigh(laplacian)[1][:, :k]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():  # fewer than k different points give fewer clusters, which is fine
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

    Not those whose similarity is at most `eta` times the best that either of the two has with any column.
    """
    if len(similarity) < 2:
        return np.ones(similarity.shape, dtype=bool)
    others = np.where(np.eye(len(similarity), dtype=bool), -np.inf, similarity)
    best = others.max(axis=1)
    related: Flags = (similarity > eta * best[:, None]) & (similarity > eta * best[None, :])
    return related
