"""The content of the guided lessons, read from `lessons.toml`: pages, settings and texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpcore.text import read_toml


@dataclass(frozen=True)
class Action:
    """The main button of a lesson step: its label, and the run that it requests.

    `job` is the name of the run relative to the page, empty for the page's own run; `request` says
    what the run is asked for.
    """

    label: str
    job: str = ""  # relative to the page
    request: str = "run"
    icon: str = "play_arrow"


@dataclass(frozen=True)
class LessonStep:
    """One step of a lesson: a page, its control settings, its tab, its button and its texts.

    `text` is shown first, `result` once the run of `action` is over. `selector` finds the element
    to scroll to then.
    """

    page: str
    text: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    tab: str = ""
    action: Action | None = None
    result: str = ""
    selector: str = "[role=tabpanel] [data-testid=stVegaLiteChart]"

    @property
    def job(self) -> str:
        """Name under which the session counts the run of the step; empty without a run."""
        return f"{self.page}{self.action.job}" if self.action else ""


@dataclass(frozen=True)
class Lesson:
    """A lesson of about five minutes: steps, takeaways and a question for a class.

    `promise` is the sentence on its card, and `literature` names the terms taught, as papers use
    them.
    """

    title: str
    promise: str
    steps: tuple[LessonStep, ...]
    takeaways: Sequence[str]
    question: str
    literature: str


def read_lessons(found: dict[str, Any]) -> dict[str, Lesson]:
    """Return the lessons by name from `found`, the parsed content of `lessons.toml`."""
    actions = {name: Action(**action) for name, action in found["actions"].items()}

    def step(table: dict[str, Any]) -> LessonStep:
        """Return one step from its `table`, with the shared settings named under `as`."""
        shared = found["settings"].get(table.pop("as", ""), {})
        settings, action = shared | table.pop("settings", {}), actions.get(table.pop("action", ""))
        return LessonStep(settings=settings, action=action, **table)

    tables = found["lessons"].items()
    return {name: Lesson(steps=tuple(map(step, one.pop("steps"))), **one) for name, one in tables}


LESSONS = read_lessons(read_toml(Path(__file__).with_name("lessons.toml")))
