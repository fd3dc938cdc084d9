"""The lessons of the guided tour, as `lessons.toml` has them: pages, settings, and what to say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpcore.text import read_toml


@dataclass(frozen=True)
class Act:
    """What a step's button does: its words, and the run that it asks for as its page does."""

    label: str
    job: str = ""  # below the page
    what: str = "run"
    icon: str = "play_arrow"


@dataclass(frozen=True)
class LessonStep:
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
    steps: tuple[LessonStep, ...]
    keep: Sequence[str]
    question: str
    literature: str


def read_lessons(found: dict[str, Any]) -> dict[str, Lesson]:
    """Lessons by their names, as the file has them."""
    acts = {name: Act(**act) for name, act in found["acts"].items()}

    def step(table: dict[str, Any]) -> LessonStep:
        shared = found["settings"].get(table.pop("as", ""), {})
        settings, act = shared | table.pop("settings", {}), acts.get(table.pop("act", ""))
        return LessonStep(settings=settings, act=act, **table)

    lessons = found["lessons"].items()
    return {name: Lesson(steps=tuple(map(step, lesson.pop("steps"))), **lesson) for name, lesson in lessons}


LESSONS = read_lessons(read_toml(Path(__file__).with_name("lessons.toml")))
