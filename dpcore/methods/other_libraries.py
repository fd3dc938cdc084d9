"""What users of other libraries write first, and what to write here."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

# for files and scripts that name it
REMOVAL = "DP-EBM was removed: version 0.2 of this program still has it."

SYNTHETIC = "Write dp.AdaptiveMarginals(epsilon=1.0).fit(frame, schema=schema).sample(100)."
QUERIES = "dpcore has no single queries; dp.IndependentMarginals has noisy counts of all columns."
NAMES = {  # in the place of the package: of several, what to write
    "Metadata SingleTableMetadata": "Declare bounds and categories: dp.Schema([dp.Column(…), …]).",
    "GaussianCopulaSynthesizer CTGANSynthesizer TVAESynthesizer DPCTGAN PATECTGAN MWEM": SYNTHETIC,
    "Synthesizer": 'Write dp.MST(epsilon=1.0) in place of Synthesizer.create("mst", epsilon=1.0).',
    "GaussianNB NaiveBayes LogisticRegression RandomForestClassifier DecisionTreeClassifier":
        'Write dp.DiffPRFs(epsilon=1.0, target="income").fit(frame, schema=schema).',
    "Context BudgetAccountant unit_of loss_of":
        'Write fit(frame, schema=schema, ledger=dp.Ledger("add_remove", epsilon=1.0)).',
    "Measurement make_laplace enable_features m t tools mechanisms": QUERIES,
    "train_test_split": "Write train, test = dp.datasets.split(frame).",
    "DPEBM": REMOVAL,
}  # fmt: skip
ATTRIBUTES = {  # in the place of a method
    "fit_sample fit_transform": "Write fit(frame, schema=schema).sample(100).",
    "sample": "It releases a classifier: write predict(frame).",
    "predict predict_proba score": "It releases rows: write sample(100).",
    "save": 'Write release = dp.export.make_release(…), and dp.export.bundle(release).',
}  # fmt: skip


def advise(name: str, written: Mapping[str, str], known: Iterable[str] = ()) -> str:
    """What to write in place of a name that is not there, after a blank; empty if nothing is known."""
    found = [f" {sentence}" for names, sentence in written.items() if name in names.split()]
    if found:
        return found[0]
    known = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), known, 1, 0.75)
    return f" Did you mean {known[near[0]]!r}?" if near else ""
