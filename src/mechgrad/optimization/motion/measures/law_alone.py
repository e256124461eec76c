"""A force law away from its mechanism: on massless slides, whose stiffness and damping are its partials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mechgrad.measures.joints import JointCoordinate
from mechgrad.model.body import Body
from mechgrad.model.forces.base import Force
from mechgrad.model.forces.user_force import UserForce
from mechgrad.model.joints import Prismatic
from mechgrad.model.model import Model
from mechgrad.model.primitives.attached import Where, places
from mechgrad.model.primitives.rows import LINEAR, Law, Row


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Given(Force):
    """Laws of another force, on other rows."""

    type_name: ClassVar[str] = "given laws"

    given: tuple[Law, ...]

    def laws(self, where: Where) -> tuple[Law, ...]:
        return self.given


def law_alone(force: Force, model: Model) -> Model:
    """Massless slides "x0", "x1", ... with a force of a model on them instead of on its rows."""
    given = force.laws(places(model))
    count = sum(len(law.rows) for law in given)
    bodies = [Body(f"b{k}", 0.0) for k in range(count)]
    joints = [Prismatic(f"x{k}", "ground", f"b{k}", axis=(0, 0, 1.0)) for k in range(count)]
    slides = iter([Row(LINEAR, coordinates=((f"x{k}", 1.0),)) for k in range(count)])
    if isinstance(force, UserForce):
        rows = [JointCoordinate(f"x{k}") for k in range(count)]
        acting: Force = UserForce(force.name, rows, force.function, force.partials, force.value_of_numbers())
    else:
        acting = _Given(force.name, tuple(law._replace(rows=tuple(next(slides) for _ in law.rows)) for law in given))
    return Model(f"law of {force.name}", bodies, joints, gravity=(0, 0, 0), forces=[acting])
