"""What `linearise` returns, and the same differentiated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.linearisation.given_states import given_state
from mechgrad.linearisation.locus import Locus, locus_of
from mechgrad.linearisation.modes import Mode, participations, rounded
from mechgrad.linearisation.point import Point
from mechgrad.linearisation.ports import Ports, ports
from mechgrad.linearisation.reduction import Columns, Reduced, chosen_columns, reduced, sizes
from mechgrad.linearisation.spectrum import Spectrum, eigenvalue_slopes, spectrum
from mechgrad.model.columns import column_index
from mechgrad.model.model import Model
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.simulation.starts.base import coordinate_names
from mechgrad.tolerances import COMPLEX_STEP as STEP
from mechgrad.typing import Array, ArrayLike, FloatArray

STEADY = 1e-6  # of what accelerations and rates are measured with: smaller drift is none


@dataclass(frozen=True)
class Asked:
    """What a linearisation was asked for, so that it can be made once more."""

    independent: Sequence[str] | None
    rates: Sequence[str] | None
    inputs: tuple[str, ...]
    outputs: Any


@final
@dataclass(frozen=True, eq=False, repr=False)
class LinearisationDerivatives:
    """A linearisation differentiated by parameters, the state it is about following them.

    Attributes
    ----------
    parameters : tuple of str
    A : (n_p, n, n);   mass, damping, stiffness : (n_p, g, g), (n_p, g, g), (n_p, g, f)
    eigenvalues : (n_p, k)
        In the order of `Linearisation.eigenvalues`. Equal ones with modes of their own split as these derivatives say,
        in the order of their real parts.

    >>> lin = mg.linearise(pendulum, {"pin": 0.0})
    >>> D = lin.derivatives(["bob.mass", "bob.com.z"])
    >>> D.by("bob.com.z").round(4) + 0.0               # d(i sqrt(g / l))/dz = i sqrt(g / l) / (2 l), l = -z
    array([0.+1.566j, 0.-1.566j])
    """

    parameters: tuple[str, ...]
    A: FloatArray
    mass: FloatArray
    damping: FloatArray
    stiffness: FloatArray
    spectrum: Spectrum

    @cached_property
    def eigenvalues(self) -> Array:
        """d(eigenvalues)/dp (n_p, k); raise where one has no derivative."""
        return eigenvalue_slopes(self.spectrum, self.A, self.parameters)

    def by(self, path: str) -> Array:
        """d(eigenvalues)/d(parameter), (k,)."""
        return np.asarray(self.eigenvalues[column_index(self.parameters, path)])

    def __repr__(self) -> str:
        return (
            f"LinearisationDerivatives(by {len(self.parameters)} parameters: {', '.join(self.parameters[:4])}"
            f"{', ...' if len(self.parameters) > 4 else ''}). Next: .eigenvalues, .A, .by(path)"
        )


@final
@dataclass(frozen=True, eq=False, repr=False)
class Linearisation:
    """Small motions about a state, in independent coordinates; `print` it as a table of its modes.

        x' = A x + B du,   y = y0 + C x + D du,       x = (displacements z, rates u) away from the motion
        mass u' + damping u + stiffness z = forces

    Where the state is at rest or moves steadily, A says how the motion goes on; of any other instant of a motion it is
    A(t) there, and eigenvalues are those of equations that change.

    >>> lin = mg.linearise(pendulum, {"pin": 0.0})
    >>> lin
    Linearisation of 'pendulum' about rest at t = 0 s: 2 states, 1 mode. Next: .modes, .A, .derivatives(paths), ...
    >>> lin.A                                                     # -g / l
    array([[ 0.  ,  1.  ],
           [-9.81,  0.  ]])
    """

    point: Point
    columns: Columns
    found: Reduced
    ports: Ports
    asked: Asked

    @classmethod
    def of(cls, point: Point, asked: Asked) -> Linearisation:
        """About a point."""
        model, at = point.model, point.partials
        holonomic = point.system.n_holonomic if len(point.rows) else 0
        columns = chosen_columns(model, at.gamma, holonomic, asked.independent, asked.rates)
        found = reduced(at, columns, model.name)
        return cls(point, columns, found, ports(point, at, columns, found, asked.inputs, asked.outputs), asked)

    # ---- matrices

    @property
    def model(self) -> Model:
        """The mechanism."""
        return self.point.model

    @property
    def A(self) -> FloatArray:
        """(n, n): x' = A x, n = f + g."""
        return np.asarray(self.found.A)

    @property
    def B(self) -> FloatArray:
        """(n, inputs): by generalized forces and other numbers that were named as inputs."""
        return self.ports.B

    @property
    def C(self) -> FloatArray:
        """(outputs, n): measures by states, through accelerations and multipliers as well."""
        return self.ports.C

    @property
    def D(self) -> FloatArray:
        """(outputs, inputs): what inputs do to measures at once."""
        return self.ports.D

    @property
    def y0(self) -> FloatArray:
        """(outputs,): measures in the state itself."""
        return self.ports.y0

    @property
    def mass(self) -> FloatArray:
        """(g, g) of independent rates."""
        return np.asarray(self.found.mass)

    @property
    def damping(self) -> FloatArray:
        """(g, g), gyroscopic and centrifugal forces included."""
        return np.asarray(self.found.damping)

    @property
    def stiffness(self) -> FloatArray:
        """(g, f), that of weights, of motion and of multipliers included."""
        return np.asarray(self.found.stiffness)

    # ---- names

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """The f independent coordinates z; of balls "root.wx": small rotations about parent axes."""
        names = coordinate_names(self.model)[0]
        return tuple(names[j] for j in self.columns.positions)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Names of the n states: coordinates, then "rate of .." for independent rates."""
        names = coordinate_names(self.model)[0]
        return (*self.coordinates, *(f"rate of {names[j]}" for j in self.columns.rates))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns of B."""
        return self.ports.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the rows of C."""
        return self.ports.outputs

    # ---- spectrum

    @cached_property
    def spectrum(self) -> Spectrum:
        """Eigenvalues with left and right eigenvectors."""
        at = self.point.partials
        return spectrum(self.A, sizes(at, self.columns, self.found, self.point.largest_force()))

    @property
    def eigenvalues(self) -> Array:
        """(k,) [1/s], from the one that grows fastest on; neutral states bring no more than zeros, which are left
        out."""
        return self.spectrum.eigenvalues

    @cached_property
    def neutral(self) -> tuple[str, ...]:
        """States on which nothing depends, such as the place a wheel has rolled to: each brings an eigenvalue zero."""
        return tuple(name for name, out in zip(self.states, self.spectrum.neutral, strict=True) if out)

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """Ways of small motions, one for a pair of complex eigenvalues."""
        names, at = [name.removeprefix("rate of ") for name in self.states], self.spectrum
        f, found = len(self.columns.positions), []
        for k, value in enumerate(at.eigenvalues):
            if value.imag < 0.0:
                continue
            shape = at.right[:, k]
            moving = self.found.following.q_z @ shape[:f]
            largest = moving[int(np.argmax(np.abs(moving)))] if len(moving) else 0.0
            if not abs(largest) > 0.0:
                largest = shape[int(np.argmax(np.abs(shape)))]
            shares = participations(names, at.left[:, k], shape)
            found.append(
                Mode(self.model, self.point.q[0], complex(value), shape / largest, moving / largest, shares)
            )  # fmt: skip
        return tuple(found)

    # ---- where it is about

    @property
    def drift(self) -> FloatArray:
        """(n,): x' of the state itself, its velocities and accelerations."""
        now = self.point.instant
        return np.concatenate([now.v[self.columns.positions], now.a[self.columns.rates]])

    @cached_property
    def steady(self) -> bool:
        """Whether the state is at rest or moves steadily: no rate changes, and of coordinates only neutral ones do."""
        now = self.point.instant
        f = len(self.columns.positions)
        scale = np.full(len(self.states), max(1.0, float(np.abs(now.v).max(initial=0.0))))
        scale[f:] = max(1.0, float(np.linalg.norm(np.real(self.model.gravity))))
        changing = np.abs(self.drift) > STEADY * scale
        return not (changing[:f] & ~self.spectrum.neutral[:f]).any() and not changing[f:].any()

    @property
    def about(self) -> str:
        """What kind of state it is about, in words."""
        if not self.steady:
            return "a passing state"
        return "a steady motion" if np.abs(self.drift).max(initial=0.0) > STEADY else "rest"

    # ---- with other numbers

    def derivatives(self, wrt: str | Sequence[str]) -> LinearisationDerivatives:
        """Exact derivatives of the matrices and of the eigenvalues by parameters.

            dA/dp = A_p + A_q dq/dp + A_v dv/dp + A_a da/dp + A_lam dlam/dp

        Parameters
        ----------
        wrt : path, pattern or list of them
            Numbers of the model, of tau and of loads, and of the start: "start.position.pin". The state follows as
            starts of motions do: an equilibrium by the balance of forces, an assembled state by what was held.

        >>> lin = mg.linearise(pendulum, {"pin": 0.0})
        >>> lin.derivatives("bob.mass").eigenvalues.round(12) + 0.0       # the mass of a pendulum does not matter
        array([[0.+0.j, 0.+0.j]])
        """
        parameters = Parameters(self.point, wrt)  # type: ignore[arg-type]
        dq, dv, held = self.point.state_slopes(parameters)
        parts = []
        for k in range(len(parameters)):
            at = self.point.along(parameters, k, (dq[k], dv[k], held[k]))
            parts.append(reduced(at, self.columns, self.model.name))
        A, mass, damping, stiffness = (
            np.array([getattr(x, name).imag / STEP for x in parts]) for name in ("A", "mass", "damping", "stiffness")
        )
        return LinearisationDerivatives(parameters.names, A, mass, damping, stiffness, self.spectrum)

    def value(self, path: str) -> float:
        """The present value of a number that `derivatives` takes.

        >>> lin = mg.linearise(pendulum, {"pin": 0.0})
        >>> lin.value("bob.mass")
        2.0
        """
        return Parameters(self.point, [path]).value(0)  # type: ignore[arg-type]

    def with_values(self, values: Mapping[str, float]) -> Linearisation:
        """The same with some numbers changed: the state is found once more, as it was found first.

        >>> lin = mg.linearise(pendulum, {"pin": 0.0})
        >>> lin.with_values({"bob.com.z": -4.0}).A
        array([[ 0.    ,  1.    ],
               [-2.4525,  0.    ]])
        """
        parameters = Parameters(self.point, list(values))  # type: ignore[arg-type]
        if list(parameters.names) != list(values):
            raise InputError(f"{', '.join(values)} hold a pattern; name every number.")
        model, forces, at_start, numbers = parameters.changed(np.array([values[x] for x in parameters.names], float))
        start = parameters.start.again(model, numbers, at_start)
        names = [self.model.v_names[j] for j in self.columns.positions]
        rates = [self.model.v_names[j] for j in self.columns.rates]
        asked = Asked(names, rates, self.asked.inputs, self.asked.outputs)
        given = given_state(start, model, None)._replace(tau=forces.tau, loads=forces.loads)
        return Linearisation.of(Point.of(given), asked)

    def locus(self, path: str, values: ArrayLike) -> Locus:
        """Eigenvalues along a parameter, each followed continuously.

        Parameters
        ----------
        path : str
            Any number that `derivatives` takes: "spring.stiffness", "start.velocity.root.x", a design variable.
        values : (nv,)
            One after another; the state is found once more at each.

        >>> lin = mg.linearise(pendulum, {"pin": 0.0})
        >>> lin.locus("bob.com.z", [-1.0, -2.0])
        Locus of 'pendulum': 2 eigenvalues over bob.com.z from -1 to -2, 2 values. Next: .eigenvalues, ...
        """
        return locus_of(self, path, values)

    # ---- in words

    def __repr__(self) -> str:
        count = len(self.modes)
        neutral = f", {len(self.neutral)} neutral" if self.neutral else ""
        return (
            f"Linearisation of {self.model.name!r} about {self.about} at t = {float(self.point.t[0]):g} s: "
            f"{len(self.states)} states{neutral}, {count} mode{'s' * (count != 1)}. "
            "Next: .modes, .A, .derivatives(paths), .with_values(..), .locus(path, values), print(..)"
        )

    def __str__(self) -> str:
        lines = [
            f"{self.model.name}: small motions about {self.about} at t = {float(self.point.t[0]):g} s",
            f"{'eigenvalue [1/s]':>26} {'frequency [Hz]':>15} {'damping ratio':>14} {'time constant [s]':>18}  mode",
        ]
        for mode in self.modes:
            frequency, ratio = ("", "")
            if mode.oscillates:
                frequency, ratio = f"{mode.frequency:.4f}", f"{rounded(mode.damping_ratio, 4):.4f}"
            share = ", ".join(f"{x} {100 * y:.0f} %" for x, y in _largest(mode.participation))
            lines.append(f"{mode.value_in_words:>26} {frequency:>15} {ratio:>14} {mode.time_constant:>18.4g}  {share}")
        if self.neutral:
            lines.append(f"nothing depends on (eigenvalue 0 each): {', '.join(self.neutral)}")
        if not self.steady:
            lines.append("the state passes: eigenvalues are those of equations that change with time")
        return "\n".join(lines)


def _largest(shares: Mapping[str, float]) -> list[tuple[str, float]]:
    """The largest shares, down to a hundredth, four at most."""
    return [x for x in sorted(shares.items(), key=lambda x: -x[1]) if x[1] >= 0.01][:4]
