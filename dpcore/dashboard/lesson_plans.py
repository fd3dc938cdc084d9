"""The guided lessons as data, read from `lessons.toml`: pages, settings and texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpcore.text import read_toml


@dataclass(frozen=True)
class Act:
    """A step's button: its label, and the run that it requests."""

    label: str
    job: str = ""  # its name, after that of the page
    button: str = "run"
    icon: str = "play_arrow"


@dataclass(frozen=True)
class LessonStep:
    """One page of a lesson: its controls, its open tab, and the texts before and after its run."""

    page: str
    text: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    tab: str = ""
    act: Act | None = None
    text_after: str = ""
    look: str = "[role=tabpanel] [data-testid=stVegaLiteChart]"

    @property
    def job(self) -> str:
        """Name of the run that the step requests; "" if it has none."""
        return f"{self.page}{self.act.job}" if self.act else ""


@dataclass(frozen=True)
class Lesson:
    """A lesson of about five minutes, with sentences to remember and a question to a class."""

    title: str
    promise: str
    steps: tuple[LessonStep, ...]
    keep: Sequence[str]
    question: str
    literature: str


def read_lessons(found: dict[str, Any]) -> dict[str, Lesson]:
    """Return the lessons of a parsed `lessons.toml` by their names."""
    acts = {name: Act(**act) for name, act in found["acts"].items()}

    def step(table: dict[str, Any]) -> LessonStep:
        shared = found["settings"].get(table.pop("as", ""), {})
        settings, act = shared | table.pop("settings", {}), acts.get(table.pop("act", ""))
        return LessonStep(settings=settings, act=act, text_after=table.pop("after", ""), **table)

    lessons = found["lessons"].items()
    return {name: Lesson(steps=tuple(map(step, lesson.pop("steps"))), **lesson) for name, lesson in lessons}


LESSONS = read_lessons(read_toml(Path(__file__).with_name("lessons.toml")))
