"""Measure IBM's diffprivlib on the rows that `benchmarks.forests --codes adult.npz` wrote.

    python3 -m venv peer
    peer/bin/pip install "diffprivlib==0.6.6" "scikit-learn<1.6" "numpy<2.1"
    peer/bin/python benchmarks/diffprivlib_peer.py adult.npz

It runs in its own environment, because diffprivlib needs an older scikit-learn than dpcore. Codes
are scaled to [0, 1] by the public number of codes. The settings are the defaults, except for the
sizes (25 trees, depth 5). Printed is the mean of 5 runs.
"""

import sys
import warnings

import numpy as np
from diffprivlib import models

RUNS = 5
EPSILONS = (2.0, 1.0, 0.5, 0.25, 0.1)


def main() -> None:
    """Fit the forests and print their accuracy."""
    rows = np.load(sys.argv[1])
    scale = np.maximum(rows["sizes"] - 1, 1).astype(float)
    x, x_test, y, truth = rows["x"] / scale, rows["x_test"] / scale, rows["y"], rows["y_test"]
    width, classes = x.shape[1], np.unique(y).tolist()
    bounds = (np.zeros(width), np.ones(width))
    for epsilon in EPSILONS:
        shared = {"epsilon": epsilon, "bounds": bounds}
        candidates = {
            "forest": lambda s=shared: models.RandomForestClassifier(25, max_depth=5, classes=classes, **s),
            "tree": lambda s=shared: models.DecisionTreeClassifier(max_depth=5, classes=classes, **s),
            "naive Bayes": lambda s=shared: models.GaussianNB(**s),
            "regression": lambda e=epsilon: models.LogisticRegression(
                epsilon=e, data_norm=float(np.sqrt(width)), max_iter=1_000
            ),
        }
        for name, make in candidates.items():
            found = []
            for _ in range(RUNS):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    predicted = make().fit(x, y).predict(x_test)
                recalls = [(predicted[truth == label] == label).mean() for label in classes]
                found.append(((predicted == truth).mean(), np.mean(recalls)))
            accuracy, balanced = np.mean(found, axis=0)
            print(f"{name:<12} epsilon {epsilon:<5g} accuracy {accuracy:.3f}  balanced {balanced:.3f}", flush=True)


if __name__ == "__main__":
    main()
