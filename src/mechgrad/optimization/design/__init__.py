"""What is best: numbers of mechanisms, their drives and starts that make objectives small and hold limits."""

from mechgrad.optimization.design.design_problem import DesignProblem, NoInfluenceWarning
from mechgrad.optimization.design.evaluation import Evaluation, Evaluator
from mechgrad.optimization.design.evaluation_log import LogWarning
from mechgrad.optimization.design.goals import LeastSquares, Measured, WorstCase
from mechgrad.optimization.design.identification import Identification
from mechgrad.optimization.design.optimum import Optimum, Side
from mechgrad.optimization.design.requirements import Limit, Linear
from mechgrad.optimization.design.scenario import Scenario
from mechgrad.optimization.design.variable import Variable
from mechgrad.optimization.design.warm_start import knots_from

__all__ = [
    "DesignProblem",
    "Evaluation",
    "Evaluator",
    "Identification",
    "LeastSquares",
    "Limit",
    "Linear",
    "LogWarning",
    "Measured",
    "NoInfluenceWarning",
    "Optimum",
    "Scenario",
    "Side",
    "Variable",
    "WorstCase",
    "knots_from",
]
