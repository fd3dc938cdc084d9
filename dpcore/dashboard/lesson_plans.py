"""The lessons of the guided tour: which pages, with which settings, what is done there, and what to say.

Words in bold stand on the screen when they are said, and nothing covers them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Settings = Mapping[str, Any]

ANY_CHART = "[data-testid=stVegaLiteChart]"
CHART = f"[role=tabpanel] {ANY_CHART}"


@dataclass(frozen=True)
class Act:
    """What a step's button does: the words on it, and what it asks for as the page's own button does (`jobs.ask`)."""

    label: str
    job: str = ""  # below the page
    what: str = "run"
    icon: str = ":material/play_arrow:"


RUN = Act("Run")
DRAW = Act("Draw 20 more", ".redraws", "go", ":material/casino:")
TOSS = Act("Toss", ".coin.toss", icon=":material/casino:")
ASK = Act("Ask them", ".coin.ask", icon=":material/groups:")


@dataclass(frozen=True)
class Step:
    """One page of a lesson: what to do there, its controls, and maybe its open tab.

    `text` is said first; `after`, once the act is over, of what is then brought into view: the `nth` that `look`
    selects, or nothing. Each of them has two lines on a laptop.
    """

    page: str
    text: str
    settings: Settings = field(default_factory=dict)
    tab: str = ""
    act: Act | None = None
    after: str = ""
    look: str = CHART
    nth: int = 1

    @property
    def job(self) -> str:
        """What its act is called among the runs of a session."""
        return f"{self.page}{self.act.job}" if self.act else ""


@dataclass(frozen=True)
class Lesson:
    """A lesson of about five minutes; at its end, three sentences to take away, and a question for the class."""

    title: str
    promise: str
    steps: tuple[Step, ...]
    lessons: tuple[str, str, str]
    question: str


def copy_at(
    epsilon: float, mode: str = "corrected", variant: str = "C1-gen: rows drawn from the private model"
) -> Settings:
    """Controls of the Naive Bayes page."""
    return {"epsilon": epsilon, "mode": mode, f"variant.{mode}": variant, "relation": "add_remove", "noise": "auto"}


def compared(*synthesizers: str, trees: tuple[str, ...] = (), **more: Any) -> Settings:
    """Controls of the page of comparisons."""
    methods = {"methods.0": list(synthesizers), "methods.1": list(trees), "methods.2": []}
    return {**methods, "epsilons": [0.1, 0.5], "repeats": 2, "measures": ["accuracy"], **more}


CORRECTED: Settings = {"epsilon": 1.0, "mode": "corrected", "relation": "add_remove", "noise": "auto"}
PRINTED_COPY = copy_at(1.0, "published", "Algorithm 2: random rows, labels by the exponential mechanism")
VERDICT = ".st-key-verdict"
RACE: Settings = {"column": "race"}


def attacked(mode: str, case: str) -> Settings:
    """Controls of the page of twin worlds."""
    return {"method": "NB-Synth", "mode": mode, "case": f"NB-Synth/{mode}/{case}", "trials": 500}


LISTED: Settings = {"linkage.known": ["age", "sex", "race", "marital-status", "education", "occupation"]}
ALONE, COUNTED, STUDIED, NEAR = "Who is alone", "Secrets from counts", "Who took part", "Distance looks safe"
STUDY: Settings = {"averages.degree": 2, "averages.people": 50}

ATTACKS = Lesson(
    "Why removing names is not enough",
    "Four attacks on tables and numbers without names, and what noise does to each of them.",
    (
        Step(
            "attacks",
            "A table without names, and a list with names and six of its columns: **45.3%** are alone in these, and "
            "so found, with all else in their rows.",
            {"linkage.step": "noiseless", **LISTED},
            ALONE,
        ),
        Step(
            "attacks",
            "Counts with noise instead, at epsilon 1: a guess about who is alone is right in about 73 of 100 cases, "
            "and orange says that none does better if it was 50:50 before.",
            {"linkage.step": "noise", "linkage.epsilon": 1.0, **LISTED},
            ALONE,
        ),
        Step(
            "attacks",
            "No rows at all, only 500 noiseless counts over large groups. A computer solves them, and has **100%** of "
            "500 people's secrets.",
            {"bits.step": "noiseless", "bits.questions": 500},
            COUNTED,
        ),
        Step(
            "attacks",
            "If all 500 answers share epsilon 1, blue is no better than a coin. Only far to the right, where each "
            "answer has nearly an epsilon of its own, do secrets come out.",
            {"bits.step": "noise", "bits.questions": 500, "bits.epsilon": 1.0},
            COUNTED,
        ),
        Step(
            "attacks",
            "A study publishes averages alone. Whoever took part fits them better (blue) than others do (grey): who is "
            "in shows, and that may be the secret.",
            {"averages.step": "noiseless", **STUDY},
            STUDIED,
        ),
        Step(
            "attacks",
            "The same averages with noise, at epsilon 1: of two people, the one who took part is picked hardly more "
            "often than by a coin.",
            {"averages.step": "noise", "averages.epsilon": 1.0, **STUDY},
            STUDIED,
        ),
        Step(
            "attacks",
            "Is a release safe if its rows are far from real ones? Blue is farther off than other people's rows are, "
            "and still tells every income that is looked up.",
            {"near.step": "noiseless"},
            NEAR,
        ),
        Step(
            "attacks",
            "A differentially private release, at epsilon 1, is nearer to real rows than the one that leaks. Distance "
            "limits no attack; epsilon limits them all.",
            {"near.step": "noise", "near.epsilon": 1.0},
            NEAR,
        ),
    ),
    (
        "Who is alone in what others know is found, with or without a name in the table.",
        "Enough noiseless numbers give people away whom none of the numbers names.",
        "Noise with an epsilon limits every attack; a distance that looks safe limits none.",
    ),
    "Which columns about you could somebody look up elsewhere, and how many people share all of them with you?",
)

EPSILON = Lesson(
    "What does epsilon buy?",
    "From odds to a synthetic copy: how much protection, how much accuracy, and how much luck.",
    (
        Step(
            "mechanisms",
            "Epsilon bounds what a release can tell anybody because of one person's row. At 0.1, somebody who is "
            "50:50 unsure about you becomes at most **52.5% sure**.",
            {"odds.epsilon": 0.1},
            "What epsilon means",
        ),
        Step(
            "mechanisms",
            "At 5 they may become **99.3% sure**, which settles the matter. Small epsilons protect; what do large "
            "ones buy?",
            {"odds.epsilon": 5.0},
            "What epsilon means",
        ),
        Step(
            "naive_bayes",
            "Now a whole table: learn from its rows with epsilon 1, and draw new rows. Will small groups come out "
            "right? Press Run.",
            {**copy_at(1.0), **RACE},
            "Columns",
            RUN,
            "**race**, value by value. Grey are the real rows, blue is the copy: with epsilon 1 they nearly agree, "
            "small groups too.",
        ),
        Step(
            "naive_bayes",
            "The same with epsilon 0.01: a hundred times the noise. What is shown is the copy from before. What will "
            "happen to small groups? Press Run.",
            {**copy_at(0.01), **RACE},
            "Columns",
            RUN,
            "More privacy is more noise, as much for a small group as for a large one: blue and grey part, and small "
            "groups drown first.",
        ),
        Step(
            "naive_bayes",
            "A release is one draw of luck. How far apart would others be, with the same settings? Press Draw 20 more.",
            copy_at(0.01),
            "Draw again",
            DRAW,
            "Every dot is one copy, and yours could have been any of them. Whoever sees all 21 knows more than from "
            "one, so all are paid for.",
        ),
        Step(
            "ledger",
            "The bill of this lesson. The same people were asked again and again, so epsilons add up: every stair is a "
            "run, on top of all before it.",
            look=ANY_CHART,
        ),
    ),
    (
        "Epsilon bounds what a release can tell anybody because of one person's row.",
        "A smaller epsilon means more noise, and small groups drown in it first.",
        "Whoever asks the same people again pays again: epsilons add up.",
    ),
    "Which epsilon would you accept for a row about yourself, and who should decide it?",
)

PRICE = Lesson(
    "Why a claimed epsilon needs a proof",
    "A published method claims epsilon 1. Run it, read the bill, and catch it in the act.",
    (
        Step(
            "naive_bayes",
            "A paper draws random rows and buys a label for each with epsilon 1. It counts one of them. Press Run for "
            "the bill.",
            PRINTED_COPY,
            "Price",
            RUN,
            "Claimed is epsilon 1. But every label asks the same people once more: one copy can cost up to **9,453**.",
        ),
        Step(
            "audit",
            "Is that hair-splitting? Two worlds differ in one person; the method runs 500 times in each, and "
            "an attacker counts. Press Run.",
            attacked("published", "labels"),
            "Attack a method",
            RUN,
            "**Caught**. With epsilon 1, nothing could be more than 2.72 times as frequent in one world as in the "
            "other. Something is, with 95% confidence.",
            look=VERDICT,
        ),
        Step(
            "audit",
            "The corrected method: the same two worlds, the same attacker, as many labels, but every label is paid "
            "for. Press Run.",
            attacked("corrected", "C2"),
            "Attack a method",
            RUN,
            "**Not caught, which proves nothing**: another attack might show more. What protects people is the proof: "
            "every question is paid for.",
            look=VERDICT,
        ),
        Step(
            "naive_bayes",
            "What does the correction cost? Epsilon 1 now buys one noisy table instead of thousands of labels, and "
            "rows are drawn from it. Press Run.",
            copy_at(1.0),
            "Accuracy",
            RUN,
            "Blue learned from the copy, grey from the real rows: a few points less, and far better than always giving "
            "the most frequent answer, the dashed line.",
        ),
        Step(
            "forests",
            "Another kind of mistake: this paper looks, without noise, whether all rows of a group are of one class. "
            "Press Run.",
            {"epsilon": 1.0, "mode": "published", "variant.published": "DiffPRFs", "relation": "add_remove"},
            "Price",
            RUN,
            "No epsilon can be proved, however large: an answer without noise can give one person away for sure.",
        ),
        Step(
            "compare",
            "Now both ways side by side, each at the epsilon that is proved of it and not the one that is claimed. "
            "Press Run.",
            compared("NB-Synth", modes=["corrected", "published"], axis="proved", repeats=4),
            "Answer",
            RUN,
            "As printed (dashed) it can cost up to thousands of times as much, and learns less. At the epsilons that "
            "are claimed, nobody would see that.",
        ),
    ),
    (
        "What a paper claims and what can be proved are two numbers: ask for the proof.",
        "An attack can refute a claim. That none is found proves nothing.",
        "Compare methods at the epsilon that is proved of them, not at the one they claim.",
    ),
    "You are offered software that says “epsilon 1”. What would you ask its makers to show you?",
)

METHODS = Lesson(
    "Which method for which question?",
    "A table for everybody, a single number, a prediction, or nobody to trust: four questions, four tools.",
    (
        Step(
            "networks",
            "“Give me a table to play with.” A network of columns keeps what hangs together. Press Run.",
            CORRECTED,
            "Network",
            RUN,
            "Arrows join columns that were counted together, with noise. Every other tie is kept only as far as these "
            "carry it.",
        ),
        Step(
            "taxonomy",
            "“How many people are of this kind?” A tree of counts answers that for groups and ranges, and says how "
            "sure it is. Press Run.",
            CORRECTED,
            "Ask a range",
            RUN,
            "Diamonds are answers; in 95 of 100 runs noise moves them no further than their bars. The grey line is the "
            "truth.",
        ),
        Step(
            "forests",
            "“Who will earn more than 50K?” If a prediction is all you need, spend everything on one classifier. "
            "Press Run.",
            CORRECTED,
            "Accuracy",
            RUN,
            "What was released, beside others. **majority class** always gives the most frequent answer: only what is "
            "better has learned something.",
        ),
        Step(
            "responses",
            "“I trust nobody with my answer.” Then everybody tosses a coin before they answer. Press Toss for one "
            "answer.",
            {"what": "Play the coin game", "coin.truth": "yes"},
            act=TOSS,
            after="Whoever gets this answer cannot be sure whether it is yours or the coin's. That protects you even "
            "from the collector.",
            look=".st-key-responses-coin-told",
        ),
        Step(
            "responses",
            "And what is it good for? A crowd of 1,000, of whom 30% would say yes. Press Ask them.",
            {"what": "Play the coin game"},
            act=ASK,
            after="The crowd's share is known to a few points, and nobody's own answer is. Where nobody is trusted, "
            "noise is much larger.",
            look=".st-key-responses-coin-estimate",
        ),
        Step(
            "compare",
            "A synthesizer and a classifier on one picture, at two epsilons, twice each. Press Run.",
            compared("NB-Synth", trees=("DiffPRFs",), modes=["corrected"], axis="claimed"),
            "Answer",
            RUN,
            "Every mark is one run. Below **majority class** a method is worse than always giving the most frequent "
            "answer, which needs no data.",
        ),
    ),
    (
        "First the question, then the method: buy only what you need.",
        "A table for everything answers each single question worse than a tool made for that one.",
        "Where nobody is trusted with the rows, privacy costs much more noise.",
    ),
    "Think of a table about people that you know. Which of the four questions would you ask it, and of whom?",
)

LESSONS: dict[str, Lesson] = {"attacks": ATTACKS, "epsilon": EPSILON, "price": PRICE, "methods": METHODS}
