"""What is best: numbers of mechanisms, their drives and starts that make objectives small and hold limits."""

from mechgrad.optimization.design.design_problem import DesignProblem
from mechgrad.optimization.design.evaluation import Evaluation, Evaluator, WorkError
from mechgrad.optimization.design.evaluation_log import LogWarning
from mechgrad.optimization.design.executors import ExecutorWarning
from mechgrad.optimization.design.goals import LeastSquares, Measured, WorstCase
from mechgrad.optimization.design.identification import Identification
from mechgrad.optimization.design.multistart import Basin, Multistart, Started
from mechgrad.optimization.design.optimum import Optimum
from mechgrad.optimization.design.pareto import Front, FrontPoint, pareto
from mechgrad.optimization.design.requirements import Limit, Linear
from mechgrad.optimization.design.robust import Deviation, MeanDeviation, deviation, scattered
from mechgrad.optimization.design.scenario import Scenario
from mechgrad.optimization.design.search import NoInfluenceWarning
from mechgrad.optimization.design.side import Side
from mechgrad.optimization.design.variable import Variable
from mechgrad.optimization.design.warm_start import knots_from

__all__ = [
    "Basin",
    "DesignProblem",
    "Deviation",
    "Evaluation",
    "Evaluator",
    "ExecutorWarning",
    "Front",
    "FrontPoint",
    "Identification",
    "LeastSquares",
    "Limit",
    "Linear",
    "LogWarning",
    "MeanDeviation",
    "Measured",
    "Multistart",
    "NoInfluenceWarning",
    "Optimum",
    "Scenario",
    "Side",
    "Started",
    "Variable",
    "WorkError",
    "WorstCase",
    "deviation",
    "knots_from",
    "pareto",
    "scattered",
]
