"""Eigenvalues over a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mechgrad.visualization.plots import style
from mechgrad.visualization.plots.parameter_units import parameter_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@style.styled
def plot_eigenvalues(locus: Any) -> Figure:
    """Eigenvalues of small motions over a parameter: in the complex plane, with a dot where the values begin, and their
    real and imaginary parts over the parameter; what lies in the grey half grows.

    locus : of `Linearisation.locus`

    >>> locus = mg.linearise(model, {"pin": 0.0}).locus("bob.com.z", [-1.0, -2.0, -4.0])
    >>> [axes.get_xlabel() for axes in mg.plots.eigenvalues(locus).axes]
    ['real part [1/s]', 'bob.com.z [m]', 'bob.com.z [m]']
    """
    style.needs(locus, "eigenvalues over a parameter", "eigenvalues", "values", "path")
    figure, (plane, growth, turning) = style.panels(3, size=(4.0, 3.4))
    parameter = style.plain(style.with_unit(locus.path, parameter_unit(locus.linearisations[0].model, locus.path)))
    for k, column in enumerate(locus.eigenvalues.T):
        look = style.look(k)
        plane.plot(column.real, column.imag, **look)
        plane.plot(column.real[:1], column.imag[:1], "o", color=look["color"], markersize=4)
        growth.plot(locus.values, column.real, **look)
        turning.plot(locus.values, column.imag, **look)
    title = f"{locus.values[0]:g} (dots) to {locus.values[-1]:g}"
    plane.set(xlabel="real part [1/s]", ylabel="imaginary part [rad/s]", title=title)
    growth.set(xlabel=parameter, ylabel="real part [1/s]", title="growth")
    turning.set(xlabel=parameter, ylabel="imaginary part [rad/s]", title="frequency")
    for ax, line, span in ((plane, plane.axvline, plane.axvspan), (growth, growth.axhline, growth.axhspan)):
        edges = ax.get_xlim() if ax is plane else ax.get_ylim()
        line(0.0, color="black", linewidth=0.8)
        if edges[1] > 0.0:
            span(0.0, edges[1], color="#EEEEEE", zorder=0)
            (ax.set_xlim if ax is plane else ax.set_ylim)(edges)
    return figure
