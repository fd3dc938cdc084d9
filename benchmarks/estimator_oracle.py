"""Compare `MaximalEntropy` with Private-PGM's estimator on the same marginals.

    make oracles

Our model is fitted, and its input and its distribution are written to a file. In another
environment, without this project, `mbi.estimation.MirrorDescent` is fitted to the same marginals.
Printed is the total variation distance of each pair of columns; one above 1e-6 is a failure.
The marginals are noiseless marginals of an invented distribution of six columns, on a cycle of four
and a tail, so that they are consistent.
"""

import sys
from importlib.metadata import version

import numpy as np

SIZES = (3, 4, 2, 5, 3, 4)
GIVEN = ((0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (4, 5))
PAIRS = [(a, b) for a in range(len(SIZES)) for b in range(a + 1, len(SIZES))]
PEOPLE, ITERATIONS = 10_000, 20_000
MOST = 1e-6


def key(pair: tuple[int, int]) -> str:
    """Return the name of a pair's marginal in the file."""
    return f"{pair[0]} {pair[1]}"


def estimate_here(path: str) -> None:
    """Fit our model and write the marginals and its distribution to `path`."""
    from dpcore.postprocess.max_entropy import MaximalEntropy

    joint = np.random.default_rng(7).dirichlet(np.full(int(np.prod(SIZES)), 0.05)).reshape(SIZES)

    def marginal(clique: tuple[int, ...]) -> np.ndarray:
        return joint.sum(axis=tuple(j for j in range(len(SIZES)) if j not in clique))

    model = MaximalEntropy([marginal((j,)) for j in range(len(SIZES))])
    for pair in GIVEN:
        model.add_target(pair, [np.arange(SIZES[j]) for j in pair], marginal(pair))
    print(f"ours: an L1 distance of {model.fit(200):.1e} from what is given at most")
    far = [np.abs(marginal(pair) - np.outer(marginal(pair[:1]), marginal(pair[1:]))).sum() / 2 for pair in GIVEN]
    print(f"given tables: a total variation of {min(far):.3f} from independence at least")
    given = {f"given {key(pair)}": marginal(pair) for pair in GIVEN}
    np.savez(path, **given, **{f"model {key(pair)}": model.marginal(pair) for pair in PAIRS})


def estimate_elsewhere(path: str) -> None:
    """Fit Private-PGM's estimator and print the distances; exit with 1 above the limit."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import mbi

    tables = np.load(path)
    names = [str(j) for j in range(len(SIZES))]
    measured = [
        mbi.LinearMeasurement(PEOPLE * tables[f"given {key(pair)}"].ravel(), tuple(names[j] for j in pair))
        for pair in GIVEN
    ]
    domain = mbi.Domain(names, SIZES)
    fitted = mbi.estimation.MirrorDescent().estimate(domain, measured, known_total=PEOPLE, iters=ITERATIONS)
    worst = 0.0
    for pair in PAIRS:
        table = fitted.project(tuple(names[j] for j in pair)).datavector(flatten=False) / PEOPLE
        distance = np.abs(np.asarray(table) - tables[f"model {key(pair)}"]).sum() / 2
        worst = max(worst, float(distance))
        print(f"{key(pair)}  {'given' if pair in GIVEN else '     '}  {distance:.1e}", flush=True)
    print(f"mbi {version('mbi')}: total variation {worst:.1e} at most")
    sys.exit(not worst < MOST)


if __name__ == "__main__":
    (estimate_elsewhere if "dpcore" not in sys.modules and __package__ in (None, "") else estimate_here)(sys.argv[1])
