"""Wrenches as generalized forces: six frozen coordinates where a wrench passes.

Three hinges and three slides through one point, held at q = v = a = 0, move nothing; their generalized forces are the
couple and the force that pass through them:

    M a + h = tau + sum J^T load,      tau[probe] = (m_x, m_y, m_z, f_x, f_y, f_z)

Inverse dynamics of the *probed* model thus gives the wrench next to the drives, `inverse_dynamics_derivatives` its
derivatives by q, v, a and parameters, and `inverse_dynamics_hessian` the second ones.

A probe of a joint becomes part of it: the joint's last atom, then the probe with its origin there and with the axes
of the child, then the rest of the joint's tail. That is the point of `joint_reactions`, in axes "child", and it stays
so when numbers of the joint change, since the joint places the probe with its own numbers. No body and no joint is
added. The probe of the ground stands at the world's origin, in front of all joints that hang on the ground; it
brings one joint and one massless body, which have no numbers. The probe of a joint that is cut stands at the origin of
its child, and carries a massless body that the joint closes to instead: all that acts on it are the joint's own rows.
A probed model therefore has the parameters of the original, no more and no less.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import new_class
from typing import ClassVar, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.body import Body
from mechgrad.model.joints import PRISMATIC, REVOLUTE, Atom, Joint
from mechgrad.model.model import Model
from mechgrad.model.primitives.fields import frozen_array, table
from mechgrad.model.primitives.frames import axis_frame
from mechgrad.typing import Array, ArrayField, ArrayLike, IntArray, Number

GROUND = "ground"
LABELS = ("mx", "my", "mz", "fx", "fy", "fz")
KINDS = (REVOLUTE,) * 3 + (PRISMATIC,) * 3

# Atoms act along their own z: frames with z along x, y, z, and the turns from each to the next. All are permutations,
# so that a probe adds no rounding; the last frame is the unit matrix.
_FRAMES = [axis_frame(axis) for axis in np.eye(3)]
_TURNS = [_FRAMES[k - 1].T @ _FRAMES[k] for k in range(3)]


def _probe_atoms(E: Array) -> tuple[Atom, ...]:
    """Hinges and slides along the axes E (columns), at the origin of the frame before; behind them the axes are E."""
    frames = (E @ _FRAMES[0], *_TURNS[1:], *_TURNS)
    return tuple(Atom(kind, frame, np.zeros(3)) for kind, frame in zip(KINDS, frames, strict=True))


class _Probe(Joint):
    """What a probe adds to a joint; the class of the joint stands behind it in the order of inheritance."""

    __slots__ = ()
    plain: ClassVar[type[Joint]]

    @property
    def kinds(self) -> tuple[int, ...]:
        return (*super().kinds, *KINDS)  # type: ignore[safe-super]

    def atoms(self) -> tuple[Atom, ...]:
        return (*super().atoms(), *_probe_atoms(super().tail()[0]))  # type: ignore[safe-super]

    def tail(self) -> tuple[Array, Array]:
        E, r = super().tail()  # type: ignore[safe-super]
        return np.eye(3), E.T @ r

    def __reduce__(self) -> tuple[Callable[[Joint], Joint], tuple[Joint]]:
        # pickle finds classes by name, and these are made on demand
        return _with_probe, (_copied(self, self.plain),)


@cache
def _probed_type(plain: type[Joint]) -> type[Joint]:
    """The joint class with a probe. It keeps the fields, hence the parameters, of the plain one."""
    labels = tuple(f"probe.{label}" for label in LABELS)
    members = {
        "__module__": __name__,
        "__slots__": (),
        "__doc__": f"{plain.__name__} with a probe behind it.",
        "plain": plain,
        "type_name": f"probed {plain.type_name}",
        "q_labels": (*plain.q_labels, *labels),
        "v_labels": (*plain.v_labels, *labels),
    }
    return new_class(f"Probed{plain.__name__}", (_Probe, plain), {}, lambda namespace: namespace.update(members))


def _copied(joint: Joint, cls: type[Joint], parent: str | None = None, child: str | None = None) -> Joint:
    """The same numbers in another class, unchecked: they may be those of a model made with `check=False`."""
    new = object.__new__(cls)
    for name in table(type(joint)).names:
        object.__setattr__(new, name, getattr(joint, name))
    for end, body in (("parent", parent), ("child", child)):
        if body is not None:
            object.__setattr__(new, end, body)
    return new


def _with_probe(joint: Joint, parent: str | None = None) -> Joint:
    return _copied(joint, _probed_type(type(joint)), parent)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _BareProbe(Joint):
    """A probe at the origin of its parent, in the parent's axes: of the ground, or of a body that a joint closes to."""

    type_name: ClassVar[str] = "bare probe"
    q_labels: ClassVar[tuple[str, ...]] = LABELS
    v_labels: ClassVar[tuple[str, ...]] = LABELS

    @property
    def kinds(self) -> tuple[int, ...]:
        return KINDS

    def atoms(self) -> tuple[Atom, ...]:
        return _probe_atoms(np.eye(3))

    def tail(self) -> tuple[Array, Array]:
        return np.eye(3), np.zeros(3)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Nothing(Body):  # type: ignore[misc]
    """A body without mass and without parameters: its fields are not declared as numbers of the model.

    So a pattern such as "*.mass" finds what it finds in the original. A body is closed to users, not to this.
    """

    mass: float = 0.0
    com: ArrayField = (0.0, 0.0, 0.0)
    inertia: ArrayField = 0.0

    def __post_init__(self) -> None:
        Body.__post_init__(self)
        object.__setattr__(self, "com", frozen_array(np.zeros(3)))


@final
@dataclass(frozen=True, eq=False)
class Probed:
    """A model with probes, and where things stand in it.

    Attributes
    ----------
    model : Model
        With the names, parameters and design variables of the original. For inverse dynamics only: a probe repeats
        the freedoms of the joint beside it, and the mass matrix is singular.
    columns : (n_v,) int
        Where each velocity of the original stands in the probed model.
    q_columns : (n_q,) int
        The same for coordinates.
    probes : dict
        "ground" or a joint's name -> six columns: couple x, y, z, force x, y, z. For a joint that is cut these are what
        the child exerts on the joint, the opposite of what the joint exerts on it, about the child's origin.
    """

    model: Model
    columns: IntArray
    q_columns: IntArray
    probes: Mapping[str, IntArray]

    def widen(self, x: ArrayLike) -> Array:
        """Velocities, accelerations or multipliers of the original, with zeros at the probes: (n_v,) or (nt, n_v).

        >>> probed(model, ground=True).widen([3.0])
        array([0., 0., 0., 0., 0., 0., 3.])
        """
        return _widened(x, "x", self.columns, self.model.n_v)

    def widen_q(self, q: ArrayLike) -> Array:
        """Coordinates of the original, with the probes at rest: (n_q,) or (nt, n_q)."""
        return _widened(q, "q", self.q_columns, self.model.n_q)

    def at(self, values: Mapping[str, Number], *, check: bool = True) -> Probed:
        """The same probes on a model with other numbers; arguments as in `Model.with_values`."""
        return replace(self, model=self.model.with_values(values, check=check))


def _widened(given: ArrayLike, name: str, columns: IntArray, n: int) -> Array:
    x = np.asarray(given)
    if x.ndim not in (1, 2) or x.shape[-1] != columns.size:
        size = columns.size
        raise InputError(f"{name} has shape {x.shape}; the model without probes needs ({size},) or (nt, {size}).")
    wide = np.zeros((*x.shape[:-1], n), np.result_type(x, float))
    wide[..., columns] = x
    return wide


def probed(model: Model, joints: Sequence[str] = (), ground: bool = False) -> Probed:
    """A model whose inverse dynamics also gives the wrenches of joints and of the ground.

    Parameters
    ----------
    model : Model
    joints : list of str
        For each, what the parent exerts on the child, as `joint_reactions(..., axes="child")` reports it: about the
        joint's point on the child, in the child's axes. All joint kinds; of joints that are cut the opposite, about
        the origin of the child, where multipliers act (`dynamics`).
    ground : bool
        What the ground exerts on the whole model: couple (moment about the world's origin) and force, in world axes.

    Coordinates of a probe stay at zero: pass states through `widen_q` and `widen` of what is returned.

    A 2 kg bob on a 1 m rod, held horizontally: the ground carries its weight and its moment.

    >>> P = probed(model, ["pin"], ground=True)
    >>> tau = inverse_dynamics(P.model, P.widen_q([np.pi / 2]))
    >>> tau[P.columns]
    array([19.62])
    >>> tau[P.probes["ground"]].round(9) + 0.0
    array([ 0.  , 19.62,  0.  ,  0.  ,  0.  , 19.62])
    >>> P.model.v_names[P.probes["pin"][0]]
    'pin.probe.mx'
    """
    chosen = _checked(model, joints, ground)
    bodies, parts, bare = _parts(model, chosen, ground)
    new = Model(
        model.name, bodies, parts, model.points, model.vectors, model.gravity, model.variables, model.constraints,
        model.forces, model.cut,
    )  # fmt: skip
    new = new.open_tree() if model.is_open else new
    # by name: a joint that the tree runs through backwards has its probe in front
    at, q_at = ({name: k for k, name in enumerate(names)} for names in (new.v_names, new.q_names))
    probes = {GROUND: _numbers(range(len(LABELS)))} if ground else {}
    for name in chosen:
        probes[name] = _numbers(at[f"{bare.get(name, f'{name}.probe')}.{label}"] for label in LABELS)
    columns, q_columns = _numbers(at[name] for name in model.v_names), _numbers(q_at[name] for name in model.q_names)
    return Probed(new, columns, q_columns, probes)


def _parts(model: Model, chosen: Collection[str], ground: bool) -> tuple[list[Body], list[Joint], dict[str, str]]:
    """Bodies and joints with probes, and what the probes of cut joints are called."""
    bodies, parts = list(model.bodies), list[Joint]()
    taken = {item.name for group in model.groups.values() for item in group}
    root = GROUND
    if ground:
        name, root = _unused("ground.probe", taken), _unused("ground.probe.body", taken)
        bodies.append(_Nothing(root))
        parts.append(_BareProbe(name, GROUND, root))
    bare: dict[str, str] = {}
    for joint in model.joints:
        # what closes a loop to the ground pushes against the ground itself, beside the probe
        parent = root if joint.parent == GROUND and joint.name not in model.cut else joint.parent
        if joint.name in chosen and joint.name in model.cut:
            bare[joint.name], end = _unused(f"{joint.name}.probe", taken), _unused(f"{joint.name}.probe.body", taken)
            bodies.append(_Nothing(end))
            parts += [_BareProbe(bare[joint.name], joint.child, end), _copied(joint, type(joint), parent, end)]
        elif joint.name in chosen:
            parts.append(_with_probe(joint, parent))
        else:
            parts.append(joint if parent == joint.parent else _copied(joint, type(joint), parent))
    return bodies, parts, bare


def _checked(model: Model, joints: Sequence[str], ground: bool) -> dict[str, None]:
    """The joints, each once, in the order given."""
    if isinstance(joints, str):
        raise InputError(f"joints is the string {joints!r}; give a list of names: [{joints!r}].")
    chosen = dict.fromkeys(joints)
    if not chosen and not ground:
        raise InputError("nothing to probe: name joints, or set ground=True, or both.")
    for name in chosen:
        if name not in model.cut or model.is_open:
            model.q_slice(name)  # of an opened model a joint that is cut is no part
        if isinstance(model.joint(name), _Probe):
            raise InputError(f"joint {name!r} has a probe already. Name all joints in one call of probed.")
    return chosen


def _unused(name: str, taken: Collection[str]) -> str:
    """The name, lengthened until nothing else is called like that."""
    while name in taken:
        name += "'"
    return name


def _numbers(positions: Iterable[int]) -> IntArray:
    return frozen_array(np.array(list(positions), np.int64))
