"""The certificates of a model, one per family of derivatives, and their common verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from mechgrad.errors import CertificateError, unknown_name
from mechgrad.sensitivities.certificate import Certificate, Worst

__all__ = ["ModelCertificate"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class ModelCertificate:
    """The certificates of a model, one per family of derivatives; iterate over them, or index by title or number.

    Attributes
    ----------
    model : str
    certificates : tuple of Certificate
    notes : tuple of str
        What was left out, and why.
    """

    model: str
    certificates: tuple[Certificate, ...]
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing failed and something was there to pass. A pendulum whose torque does not depend on velocity
        may pass; the verdict says so."""
        outcomes = {c.outcome for c in self.certificates}
        return "passed" in outcomes and outcomes <= {"passed", "no influence"}

    @property
    def worst(self) -> Worst:
        """The worst entry of all families."""
        return self._worst_certificate().worst

    @property
    def verdict(self) -> str:
        """One paragraph: the worst family's verdict, and which families had nothing to see."""
        still = [c.title for c in self.certificates if c.outcome == "no influence"]
        nothing = f" Nothing to see, influence is zero: {', '.join(still)}." if still else ""
        if self.passed:
            count, worst = len(self.certificates) - len(still), self._worst_certificate()
            error = f"{worst.title}, relative error {worst.worst.error:.1e}"
            return f"passed: {count} families agree; worst is {error}.{nothing}"
        bad = [c.title for c in self.certificates if c.outcome in ("failed", "inconclusive")]
        if not bad:
            return f"no influence:{nothing or ' nothing was checked.'}"
        worst = self._worst_certificate()
        others = [title for title in bad if title != worst.title]
        return f"{worst.title} {worst.verdict}" + (f" Also bad: {', '.join(others)}." if others else "")

    def raise_if_failed(self) -> None:
        """Raise CertificateError, with tables and verdict, unless everything passed."""
        if not self.passed:
            raise CertificateError(str(self))

    def table(self, limit: int = 3) -> str:
        """The tables of all families as plain text, each with its verdict."""
        tables = [f"{c.table(limit)}\n{c.verdict}" for c in self.certificates]
        return "\n\n".join([*tables, *(f"note: {note}" for note in self.notes)])

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.verdict}"

    def __repr__(self) -> str:
        return f"ModelCertificate({self.model!r}: {len(self)} families, {'passed' if self.passed else 'not passed'})"

    def __len__(self) -> int:
        return len(self.certificates)

    def __iter__(self) -> Iterator[Certificate]:
        return iter(self.certificates)

    def __getitem__(self, key: str | int) -> Certificate:
        if isinstance(key, int):
            return self.certificates[key]
        found = {c.title: c for c in self.certificates}
        if key not in found:
            raise unknown_name("family", key, found)
        return found[key]

    def _worst_certificate(self) -> Certificate:
        order = ("no influence", "passed", "inconclusive", "failed")
        return max(self.certificates, key=lambda c: (order.index(c.outcome), float(np.max(c.excess))))
