"""What does it look like? Plots of any result, one call each: matplotlib figures, which nobody shows but you."""

from mechgrad.visualization.plots.constraint_norms import plot_constraint_norms as constraint_norms
from mechgrad.visualization.plots.convergence_plots import plot_convergence as convergence
from mechgrad.visualization.plots.eigenvalue_plots import plot_eigenvalues as eigenvalues
from mechgrad.visualization.plots.energy_plots import plot_energies as energies
from mechgrad.visualization.plots.front_plots import plot_basins as basins
from mechgrad.visualization.plots.front_plots import plot_front as front
from mechgrad.visualization.plots.gait_plots import plot_gait as gait
from mechgrad.visualization.plots.history_plots import plot_histories as histories
from mechgrad.visualization.plots.history_plots import plot_motion as motion
from mechgrad.visualization.plots.optimum_plots import plot_optimum as optimum
from mechgrad.visualization.plots.phase_plots import plot_phase as phase
from mechgrad.visualization.plots.reaction_plots import plot_reactions as reactions
from mechgrad.visualization.plots.sensitivity_plots import plot_gradient as gradient
from mechgrad.visualization.plots.sensitivity_plots import plot_sensitivities as sensitivities
from mechgrad.visualization.plots.sensitivity_plots import plot_sensitivity_histories as sensitivity_histories
from mechgrad.visualization.plots.sensitivity_plots import plot_sensitivity_matrix as sensitivity_matrix
from mechgrad.visualization.plots.torque_plots import plot_torques as torques

__all__ = [
    "basins", "constraint_norms", "convergence", "eigenvalues", "energies", "front", "gait", "gradient", "histories",
    "motion", "optimum", "phase", "reactions", "sensitivities", "sensitivity_histories", "sensitivity_matrix",
    "torques",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
