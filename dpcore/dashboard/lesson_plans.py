"""The lessons of the guided tour, as `lessons.toml` has them: pages, settings, and what to say."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Act:
    """What a step's button does: its words, and the run that it asks for as its page does."""

    label: str
    job: str = ""  # below the page
    what: str = "run"
    icon: str = "play_arrow"


@dataclass(frozen=True)
class Step:
    """One page of a lesson: its controls, its open tab, what to do, and what to see then."""

    page: str
    text: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    tab: str = ""
    act: Act | None = None
    after: str = ""
    look: str = "[role=tabpanel] [data-testid=stVegaLiteChart]"

    @property
    def job(self) -> str:
        """What its act is called among the runs of a session."""
        return f"{self.page}{self.act.job}" if self.act else ""


@dataclass(frozen=True)
class Lesson:
    """A lesson of about five minutes; at its end, what to take away, and a question to a class."""

    title: str
    promise: str
    steps: tuple[Step, ...]
    keep: Sequence[str]
    question: str
    literature: str

    def texts(self) -> Iterator[str]:
        """All that it says."""
        yield from (self.title, self.promise, *self.keep, self.question, self.literature)
        for step in self.steps:
            yield from filter(None, (step.text, step.after, step.act.label if step.act else ""))


def read_lessons(text: str) -> dict[str, Lesson]:
    """Lessons by their names, as the file has them: its lines are broken where they are long."""
    found = tomllib.loads(text)
    acts = {name: Act(**act) for name, act in found["acts"].items()}

    def step(table: dict[str, Any]) -> Step:
        shared = found["settings"].get(table.pop("as", ""), {})
        settings, act = shared | table.pop("settings", {}), acts.get(table.pop("act", ""))
        return Step(settings=settings, act=act, **on_one_line(table))

    return {
        name: Lesson(steps=tuple(map(step, lesson.pop("steps"))), **on_one_line(lesson))
        for name, lesson in found["lessons"].items()
    }


def on_one_line(table: dict[str, Any]) -> dict[str, Any]:
    """The same table with each text on one line."""
    return table | {name: " ".join(text.split()) for name, text in table.items() if isinstance(text, str)}


LESSONS = read_lessons(Path(__file__).with_name("lessons.toml").read_text(encoding="utf-8"))
