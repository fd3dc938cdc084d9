"""Clusters of columns from a noisy matrix of similarities. Post-processing: no private input."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from dpcore.arguments import Flags, Floats

Clusters = list[list[int]]
STARTS = 10  # initializations of k-means
# bound on exponents of the corrected affinity, because noise can make scores arbitrarily large
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
    """Cluster d columns by normalized spectral clustering; return k clusters of indices, or fewer.

    Let W be the affinities, B the sums of W's rows, and L = 1 - B^-1/2 W B^-1/2. The eigenvectors
    of the `k1` smallest eigenvalues of L (`k` by default) are taken, their rows normalized, and
    clustered by k-means++.

    `affinity` "published": W_ij = exp(-s_ij / (2 sigma^2)) of the similarities s, with s_ii = 0, as
    Algorithms 1 and 3 of paper 001 print it. "fixed": W is of the distances 1 - s (s clipped to [0,
    1]), with W_ii = 0, and with the median of all distances for sigma^2, as Ng, Jordan and Weiss
    (2001).

    `similarity`, shape (d, d), is symmetric and noisy, so it may have any numbers. Its diagonal is
    not used.
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
    sums = np.logaddexp.reduce(exponents, axis=1)  # in logarithms, so no exponent overflows
    laplacian = np.eye(d) - np.exp(exponents - (sums[:, None] + sums) / 2)
    vectors = np.linalg.eigh(laplacian)[1][:, : k1 or k]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    seed = int(rng.integers(2**31))
    # fewer than k distinct points give fewer clusters, which is allowed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = KMeans(k, n_init=STARTS, random_state=seed).fit_predict(vectors / np.where(lengths > 0, lengths, 1))
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


def contiguous_clusters(groups: list[range], k: int) -> Clusters:
    """Split groups of columns in order into at most `k` clusters with similar numbers of columns.

    `groups` are ranges of columns' positions; no group is divided between clusters.
    """
    total = groups[-1].stop if groups else 0
    clusters: dict[int, list[int]] = {}
    for group in groups:
        middle = (group.start + group.stop) / 2
        clusters.setdefault(min(int(middle * k / total), k - 1), []).extend(group)
    return list(clusters.values())


def related_columns(similarity: Floats, eta: float) -> Flags:
    """Return which column may have which as a parent, bool array (d, d) (paper 001, eq. 9).

    `similarity` has the noisy similarities of a cluster of d columns. A pair is excluded if its
    similarity is at most `eta` times the best similarity of either column.
    """
    if len(similarity) < 2:
        return np.ones(similarity.shape, dtype=bool)
    best = np.where(np.eye(len(similarity), dtype=bool), -np.inf, similarity).max(axis=1)
    return np.asarray((similarity > eta * best[:, None]) & (similarity > eta * best[None, :]))
