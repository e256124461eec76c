"""The mechanism: bodies, joints, markers, gravity, constraints, forces and design variables, as one immutable noun."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, final

from mechgrad.errors import ClosedLoopError, unknown_name
from mechgrad.model import configuration
from mechgrad.model.body import Body
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.describe import describe
from mechgrad.model.dictionary import model_arguments, model_to_dict
from mechgrad.model.forces.base import Force
from mechgrad.model.joints import Joint
from mechgrad.model.layout import Layout, build_layout
from mechgrad.model.markers import Point, Vector
from mechgrad.model.parameters import (
    Parameter,
    assigned,
    changed_fields,
    check_variables,
    list_parameters,
    read_value,
    resolve,
)
from mechgrad.model.primitives.fields import as_vector, refuse_control
from mechgrad.model.topology import Topology, topology
from mechgrad.model.validation import check_markers, check_names, check_tree
from mechgrad.model.variables import DesignVariable
from mechgrad.typing import Array, ArrayField, ArrayLike, FloatArray, IntArray, Number

T = TypeVar("T")


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Model:
    """A mechanism: bodies joined to the ground, as a tree or with closed loops.

    Attributes
    ----------
    name : str
    bodies, joints, points, vectors, variables, constraints, forces : tuple
        Given as any iterables. The order of the joints is the order of q and v; in a tree, a joint's parent is
        "ground" or the child of an earlier joint. All names live in one namespace.
    gravity : (3,) array
        Acceleration in ground axes [m/s^2]. Paths `gravity.x`, `.y`, `.z`.
    cut : tuple of str
        Names of the joints that close loops. They have no coordinates: q and v belong to the others, `tree_joints`,
        and the cut ones hold as constraints. Found (balls first, then joints with many coordinates, then late ones)
        unless they are named. The motion does not depend on the choice. Its error at given tolerances does, mostly by
        a factor of about three that could not be foreseen (`model/spanning.py` has numbers): name other joints for the
        sake of coordinates that you want to see.

    A model never changes: `with_values` returns another one. Variables are applied to their targets on entry.

    >>> from mechgrad.model import Body, Model, Revolute
    >>> bob = Body("bob", mass=2, com=(0, 0, -1))
    >>> pendulum = Model("pendulum", [bob], [Revolute("pin", "ground", "bob", axis=(0, 1, 0))])
    >>> pendulum
    Model('pendulum': 1 bodies, 1 joints, n_q=1, n_v=1, 2 kg)
    >>> [p.path for p in pendulum.parameters("bob.com.*")]
    ['bob.com.x', 'bob.com.y', 'bob.com.z']
    >>> pendulum.locate("bob.com.x"), pendulum.value("bob.com.z")
    (('bob', 'com.x'), -1.0)
    >>> on_the_moon = pendulum.with_values({"bob.mass": 3, "gravity.z": -1.62})
    >>> on_the_moon.total_mass, pendulum.total_mass
    (3.0, 2.0)
    >>> pendulum.with_values({"bob.mass": 2 + 1e-30j}).body("bob").mass
    (2+1e-30j)

    Two bars and three hinges on the ground close a loop:

    >>> hinges = [Revolute("A", "ground", "left"), Revolute("B", "ground", "right"), Revolute("C", "left", "right")]
    >>> rigid = Model("triangle", [Body("left"), Body("right")], hinges)
    >>> rigid.cut, rigid.q_names, Model("triangle", rigid.bodies, hinges, cut=["B"]).q_names
    (('C',), ('A', 'B'), ('A', 'C'))
    """

    name: str
    bodies: tuple[Body, ...] = ()
    joints: tuple[Joint, ...] = ()
    points: tuple[Point, ...] = ()
    vectors: tuple[Vector, ...] = ()
    gravity: ArrayField = (0.0, 0.0, -9.81)
    variables: tuple[DesignVariable, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    forces: tuple[Force, ...] = ()
    cut: tuple[str, ...] = ()
    _layout: Layout = field(init=False)
    _cache: dict[Hashable, Any] = field(init=False, default_factory=dict)
    _shared: dict[Hashable, Any] = field(init=False, default_factory=dict)
    _original: dict[Hashable, Any] = field(init=False, default_factory=dict)
    is_open: bool = field(init=False, default=False)

    def __init__(
        self,
        name: str,
        bodies: Iterable[Body] = (),
        joints: Iterable[Joint] = (),
        points: Iterable[Point] = (),
        vectors: Iterable[Vector] = (),
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        variables: Iterable[DesignVariable] = (),
        constraints: Iterable[Constraint] = (),
        forces: Iterable[Force] = (),
        cut: Iterable[str] | None = None,
    ) -> None:
        refuse_control(str(name), "model")
        vars(self).update(
            name=str(name),
            bodies=tuple(bodies),
            joints=tuple(joints),
            points=tuple(points),
            vectors=tuple(vectors),
            gravity=as_vector(gravity, f"model {name!r}: gravity"),
            variables=tuple(variables),
            constraints=tuple(constraints),
            forces=tuple(forces),
            _cache={},
            _shared={},
            _original={},
            is_open=False,
        )
        names = check_names(self.groups)
        spanning = check_tree(self.bodies, self.joints, cut)
        check_markers(self.bodies, (*self.points, *self.vectors))
        vars(self)["cut"] = tuple(self.joints[k].name for k in spanning.cut)
        vars(self)["_layout"] = build_layout(names, spanning, spanning.tree(self.joints))
        check_variables(self._layout, self.groups)
        numbers = dict(pair for variable in self.variables for pair in variable.driven())
        vars(self).update(assigned(self._layout, self.groups, self.gravity, numbers, check=True))
        for element in (*self.constraints, *self.forces):
            element.check_model(self)

    # ---- sizes and names

    @property
    def n_q(self) -> int:
        """Number of coordinates."""
        return len(self._layout.q_names)

    @property
    def n_v(self) -> int:
        """Number of velocities: the mobility of the tree, and of the mechanism if nothing constrains it."""
        return len(self._layout.v_names)

    @property
    def q_names(self) -> tuple[str, ...]:
        """Names of the coordinates: the joint's name, or `joint.label`."""
        return self._layout.q_names

    @property
    def v_names(self) -> tuple[str, ...]:
        """Names of the velocities."""
        return self._layout.v_names

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, without the ground."""
        return tuple(body.name for body in self.bodies)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all joints, cut ones included."""
        return tuple(joint.name for joint in self.joints)

    @property
    def tree_joints(self) -> tuple[Joint, ...]:
        """The joints with coordinates, in the order of q, each from parent to child as the tree runs.

        Those of `joints`, without the cut ones. Where the tree reaches a joint's child first, the joint is `Reversed`:
        bodies swapped, coordinates with their meaning and name.
        """
        return self.cached("tree joints", lambda model: model._layout.spanning.tree(model.joints))

    @property
    def cut_joints(self) -> tuple[Joint, ...]:
        """The joints that close loops; `closure()` of each states what it asks of its bodies."""
        return tuple(self.joints[k] for k in self._layout.spanning.cut)

    @property
    def total_mass(self) -> float:
        """Sum of the masses [kg]."""
        return sum((body.mass for body in self.bodies), 0.0)

    @property
    def layout(self) -> Layout:
        """Names, the tree, and where each coordinate sits in q and v: what models share that differ in numbers only."""
        return self._layout

    @property
    def groups(self) -> dict[str, tuple[Any, ...]]:
        """Everything that has a name, by kind: "bodies", "joints", "points", "vectors", "constraints", "forces",
        "variables"."""
        return {
            "bodies": self.bodies,
            "joints": self.joints,
            "points": self.points,
            "vectors": self.vectors,
            "constraints": self.constraints,
            "forces": self.forces,
            "variables": self.variables,
        }

    @property
    def parents(self) -> IntArray:
        """1-based number of the parent joint of each of `tree_joints`; 0 is the ground."""
        return self._layout.parents

    @property
    def topology(self) -> Topology:
        """The tree as joint parent matrix and as branch matrices."""
        return self.shared("topology", lambda model: topology(model.parents))

    # ---- members

    def body(self, name: str) -> Body:
        """The body of this name."""
        return self._member("bodies", name)  # type: ignore[no-any-return]

    def joint(self, name: str) -> Joint:
        """The joint of this name, whether cut or not."""
        return self._member("joints", name)  # type: ignore[no-any-return]

    def open_tree(self) -> Model:
        """The same model seen as a tree: its closures, constraints and forces are there but do nothing.

        For what a tree would do without them; `is_open` tells such a model.
        """
        return self if self.is_open else self._copy({"is_open": True})

    def tree_joint(self, name: str) -> Joint:
        """The joint of this name among `tree_joints`; raise if it is cut."""
        self.q_slice(name)
        return next(joint for joint in self.tree_joints if joint.name == name)

    def point(self, name: str) -> Point:
        """The point of this name."""
        return self._member("points", name)  # type: ignore[no-any-return]

    def vector(self, name: str) -> Vector:
        """The vector of this name."""
        return self._member("vectors", name)  # type: ignore[no-any-return]

    def marker(self, name: str) -> Point | Vector:
        """The point or the vector of this name."""
        return self.vector(name) if self._layout.names.get(name, ("",))[0] == "vectors" else self.point(name)

    def constraint(self, name: str) -> Constraint:
        """The constraint of this name."""
        return self._member("constraints", name)  # type: ignore[no-any-return]

    def force(self, name: str) -> Force:
        """The force of this name."""
        return self._member("forces", name)  # type: ignore[no-any-return]

    def variable(self, name: str) -> DesignVariable:
        """The design variable of this name."""
        return self._member("variables", name)  # type: ignore[no-any-return]

    def q_slice(self, joint: str) -> slice:
        """Where a joint's coordinates sit in q."""
        return self._slice(self._layout.q_slices, joint)

    def v_slice(self, joint: str) -> slice:
        """Where a joint's velocities sit in v."""
        return self._slice(self._layout.v_slices, joint)

    # ---- coordinates

    def neutral(self) -> FloatArray:
        """Zero coordinates, unit Euler parameters."""
        return configuration.neutral(self._layout)

    def integrate(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """q moved by a tangent step dq, (n_q,) or (nt, n_q) by (n_v,) or (nt, n_v).

            plain coordinates: q + dq;    Euler parameters: e := Exp(dtheta) e, dtheta in parent axes

        Exact for any length of step, and complex-safe.
        """
        return configuration.integrate(self._layout, q, dq)

    # ---- numbers

    def parameters(self, pattern: str = "*") -> list[Parameter]:
        """Every number of the model whose path matches a shell pattern."""
        return list_parameters(self, pattern)

    def value(self, path: str) -> Number:
        """The number at a path."""
        return read_value(self, path)

    def locate(self, path: str) -> tuple[str, str]:
        """The two halves of a path: who owns the number, and what it is called there."""
        slot = resolve(self._layout, self.groups, path)
        return slot.owner, slot.label

    def with_values(self, values: Mapping[str, Number], *, check: bool = True) -> Model:
        """Another model with some numbers changed; complex numbers are allowed and judged by their real part.

        `check=False` leaves out the plausibility of masses, inertias and axes (not the one for NaN): finite
        differences need it where a body sits on the border of the possible, such as a slender rod.
        """
        return self._copy(changed_fields(self, values, check))

    def stepped(self, values: Mapping[str, Number]) -> Model:
        """`with_values` without checks, for derivatives: a number that a variable drives moves without the variable."""
        if any(path in self._layout.driven for path in values):
            return self._copy(assigned(self._layout, self.groups, self.gravity, values, check=False))
        return self.with_values(values, check=False)

    def _copy(self, fields: Mapping[str, Any]) -> Model:
        new = object.__new__(Model)
        vars(new).update(vars(self))
        kept = {key: self._cache.get(key, self._original.get(key)) for key in ("tree", "elements")}
        vars(new).update(fields, _cache={}, _original=kept)
        return new

    def afresh(self) -> Model:
        """The same model without anything remembered, to compute all of it again."""
        new = self._copy({})
        vars(new).update(_shared={}, _original={})
        return new

    def path_derivative(self, path: str) -> list[tuple[str, float]]:
        """What a path moves: itself with weight 1, or the targets of a variable with d(target)/d(variable)."""
        slot = resolve(self._layout, self.groups, path)
        return self.variables[slot.position].weights() if slot.group == "variables" else [(path, 1.0)]

    def cached(self, key: Hashable, make: Callable[[Model], T]) -> T:
        """The result of make(model), computed once for this model. `with_values` starts with an empty cache."""
        try:
            result: T = self._cache[key]
        except KeyError:
            result = self._cache[key] = make(self)
        return result

    def shared(self, key: Hashable, make: Callable[[Model], T]) -> T:
        """The result of make(model), computed once for this model and all that differ from it in numbers only.

        For what names, kinds and connections alone decide; `with_values` hands it on.
        """
        if key not in self._shared:
            self._shared[key] = make(self)
        result: T = self._shared[key]
        return result

    def of_original(self, key: Hashable) -> Any:
        """The "tree" or the "elements" of the model that this one is a copy of, or None: what makes them for this one
        takes from there whatever did not change."""
        return self._original.get(key)

    # ---- text

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and floats; `Model.from_dict` restores an equal model."""
        return model_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Model:
        """The model that `to_dict` (or a TOML file) describes."""
        return cls(**model_arguments(data))

    def describe(self) -> str:
        """The model as a text: sizes, then the tree of joints and bodies."""
        return describe(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return (
            self.name == other.name
            and self.groups == other.groups
            and self.cut == other.cut
            and self.gravity.tolist() == other.gravity.tolist()
        )

    def __hash__(self) -> int:
        return hash((self.name, self.body_names, self.joint_names))

    def __repr__(self) -> str:
        return (
            f"Model({self.name!r}: {len(self.bodies)} bodies, {len(self.joints)} joints, "
            f"n_q={self.n_q}, n_v={self.n_v}, {self.total_mass:.6g} kg)"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_cache": {}, "_shared": {}, "_original": {}}

    def _slice(self, slices: Mapping[str, slice], joint: str) -> slice:
        if (name := self.joint(joint).name) not in slices:
            raise ClosedLoopError(
                f"model {self.name!r}: joint {name!r} closes a loop and is cut, so it has no coordinates. "
                f"Joints that have: {', '.join(slices)}. Build the model with another cut=[...] to give it some."
            )
        return slices[name]

    def _member(self, group: str, name: str) -> Any:
        found, position = self._layout.names.get(name, ("", 0))
        if found != group:
            items = self.groups[group]
            noun = {"bodies": "body"}.get(group, group[:-1])
            raise unknown_name(noun, name, [item.name for item in items], f"model {self.name!r}")
        return self.groups[group][position]
