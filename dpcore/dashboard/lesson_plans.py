"""The lessons of the guided tour: which pages, with which settings, and what to say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """One page of a lesson: what to do there and what to see, its controls, and maybe its open tab."""

    page: str
    text: str
    settings: Settings = field(default_factory=dict)
    tab: str = ""


@dataclass(frozen=True)
class Lesson:
    """A lesson of about five minutes."""

    title: str
    promise: str
    steps: tuple[Step, ...]


def copy_at(
    epsilon: float, mode: str = "corrected", variant: str = "C1-gen: rows drawn from the private model"
) -> Settings:
    """Controls of the Naive Bayes page."""
    return {"epsilon": epsilon, "mode": mode, f"variant.{mode}": variant, "relation": "add_remove", "noise": "auto"}


CORRECTED: Settings = {"epsilon": 1.0, "mode": "corrected", "relation": "add_remove", "noise": "auto"}
PRINTED_COPY = copy_at(1.0, "paper", "Algorithm 2: random rows, labels by the exponential mechanism")

LESSONS: dict[str, Lesson] = {
    "epsilon": Lesson(
        "What does epsilon buy?",
        "From odds to a synthetic copy: how much protection, how much accuracy, and how much luck.",
        (
            Step(
                "mechanisms",
                "Epsilon bounds what a release can tell **anybody** because of **one** person's row. Move epsilon, "
                "then how sure somebody was before: near 0 the release changes nobody's mind; at 5 it may settle the "
                "matter.",
                tab="What epsilon means",
            ),
            Step(
                "naive_bayes",
                "Now a whole table. Press **Run**: a model is learned with epsilon 1, and new rows are drawn from "
                "it. In **Columns**, diamonds are distances from the real rows, grey lines those of a fresh sample "
                "of the real rows. Below, one column value by value: grey are the real rows, blue the copy.",
                copy_at(1.0),
            ),
            Step(
                "naive_bayes",
                "The same with epsilon 0.01: one hundredth. Press **Run** and look at **Columns** and **Accuracy** "
                "again. More privacy is more noise, and the noise is the same for a small group as for a large one: "
                "small groups drown first.",
                copy_at(0.01),
                "Columns",
            ),
            Step(
                "naive_bayes",
                "One release is one draw of luck. Press **Draw 20 more** and see how far apart they lie. All of them "
                "are paid for: look at the epsilon that is named above the button.",
                copy_at(0.01),
                "Draw again",
            ),
            Step(
                "ledger",
                "Everything of this lesson on one bill: the same people were asked again and again, so the epsilons "
                "**add up**. Set a cap below the total, go to Naive Bayes and press Run: it is refused before "
                "anything is drawn. Then come back and remove the cap.",
            ),
        ),
    ),
    "price": Lesson(
        "Why the paper's epsilon is not the price",
        "A published method claims epsilon 1. Run it, read the bill, and catch it in the act.",
        (
            Step(
                "naive_bayes",
                "A paper draws random rows and labels each by the exponential mechanism with epsilon 1. Press **Run** "
                "and read the two numbers: what the paper **claims**, and what can be **proved**. Every label asks the "
                "same people once more, and the paper counts one of them.",
                PRINTED_COPY,
                "Price",
            ),
            Step(
                "audit",
                "Is that hair-splitting? Two tables that differ in one person, many runs on each. If epsilon were 1, "
                "nothing could be 2.72 times as frequent in one world as in the other. Press **Run** and see.",
                {"method": "NB-Synth", "mode": "paper", "case": "NB-Synth/paper/labels", "trials": 2000},
            ),
            Step(
                "audit",
                "The corrected method, attacked in the same way: press **Run**. It is **not caught**. That alone "
                "proves nothing: another attack might be cleverer. The proof is in the ledger: each question, its "
                "sensitivity, its noise.",
                {"method": "NB-Synth", "mode": "corrected", "case": "NB-Synth/corrected/C1/add_remove", "trials": 4000},
            ),
            Step(
                "naive_bayes",
                "And what does the correction cost? Press **Run**: claimed and proved are the same number now. Open "
                "**Accuracy**: a classifier learns about 84 % from these rows. From the paper's it learns 70 to 81 %, "
                "because they are drawn at random and only their labels are learned. Here honesty costs nothing.",
                copy_at(1.0),
                "Price",
            ),
            Step(
                "forests",
                "One more, another kind of mistake: this paper looks, without noise, whether all rows of a node are of "
                "one class. Press **Run** and open **Price**: however large the epsilon, none can be proved.",
                {"epsilon": 1.0, "mode": "paper", "variant.paper": "DiffPRFs", "relation": "add_remove"},
                "Price",
            ),
            Step(
                "ledger",
                "The bill: claimed, and proved. Where it says **none**, no sum of epsilons means anything any more: "
                "who has seen that release may have learned everything about somebody.",
            ),
        ),
    ),
    "methods": Lesson(
        "Which method for which question?",
        "A table for everybody, a single number, a prediction, or nobody to trust: four questions, four tools.",
        (
            Step(
                "networks",
                "**“Give me a table to play with.”** A network of columns keeps what hangs together in pairs. Press "
                "**Run**, then open **Pairs** and **Network**.",
                CORRECTED,
            ),
            Step(
                "taxonomy",
                "**“How many people are of this kind?”** A tree of counts answers questions about groups and ranges, "
                "with an interval. Press **Run**, then open **Ask a range**, and choose columns and ends.",
                CORRECTED,
            ),
            Step(
                "forests",
                "**“Who will earn more than 50K?”** If a prediction is all you need, buy only that: all of epsilon "
                "goes into one classifier. Press **Run**, then open **Accuracy**, and mind the majority class.",
                CORRECTED,
            ),
            Step(
                "responses",
                "**“I trust nobody with the rows.”** Then everybody tosses a coin before answering. Play one answer, "
                "then watch a crowd: the price is much more noise for the same protection.",
                {"what": "Play the coin game"},
            ),
            Step(
                "compare",
                "Two synthesizers and a classifier on one picture, at three epsilons, three times each: press **Run**. "
                "Mind the references: what is below the majority class is worse than no data at all. Then choose "
                "others, and compare again.",
            ),
        ),
    ),
}
