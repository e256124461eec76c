"""Certificates of several gradients, and whether all of them pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from mechgrad.errors import CertificateError, unknown_name
from mechgrad.sensitivities.certificate import Certificate


@final
@dataclass(frozen=True, eq=False, repr=False)
class BatchCertificate:
    """What checks of the gradients of several motions found: c["name"] or c[k] is the `Certificate` of one.

    names : of the motions;   each : the Certificate of each
    """

    names: tuple[str, ...]
    each: tuple[Certificate, ...]

    @property
    def passed(self) -> bool:
        """Whether all passed."""
        return all(c.passed for c in self.each)

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the motions whose certificate did not pass."""
        return tuple(name for name, c in zip(self.names, self.each, strict=True) if not c.passed)

    @property
    def verdict(self) -> str:
        """A line per motion."""
        lines = [f"{name!r}: {c.verdict}" for name, c in zip(self.names, self.each, strict=True)]
        passed = len(self.each) - len(self.failed)
        return "\n".join([f"{passed} of {len(self.each)} passed.", *lines])

    def raise_if_failed(self) -> None:
        """Raise CertificateError, with the tables of those that did not pass, unless all passed."""
        if not self.passed:
            raise CertificateError("\n\n".join(f"motion {name!r}:\n{self[name]}" for name in self.failed))

    def __getitem__(self, which: str | int) -> Certificate:
        """The certificate of one motion, by its name or position."""
        if isinstance(which, str):
            if which not in self.names:
                raise unknown_name("motion", which, self.names, "the certificates")
            return self.each[self.names.index(which)]
        return self.each[which]

    def __len__(self) -> int:
        return len(self.each)

    def __str__(self) -> str:
        return self.verdict

    def __repr__(self) -> str:
        return f"BatchCertificate({len(self.each)} motions, {len(self.each) - len(self.failed)} passed)"
