"""Numbers that several folders share: the step of complex differentiation, and when a singular value counts as zero."""

from __future__ import annotations

COMPLEX_STEP = 1e-30
"""f_x = Im f(x + i h) / h with this h: the truncation error, of order h^2, is below every double."""

RANK = 1e-9
"""Singular values of Jacobians below this part of the largest count as zero, where positions are known to rounding."""

RANK_NEAR_SINGULAR = 1e-7
"""The same at positions that were sought: one next to a singular one is found to about the root of rounding only, since
its constraints are flat there."""
