"""Certificates as logs keep them: JSON with what was found, and with the recipe of the motion that was certified.

title, outcome, verdict, judge, notes
outputs, names                          rows and columns
given, numeric, errors                  (m, n); accepted (n,)
recipe                                  of the motion, as `recipe_to_dict` has it: `recipe_from_dict` makes it again
recipe_missing                          why there is none, where no file can hold it
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mechgrad.errors import MechgradError
from mechgrad.io.recipes import recipe_to_dict
from mechgrad.sensitivities.certificate import Certificate
from mechgrad.typing import FloatArray

__all__ = ["certificate_to_dict", "save_certificate"]


def certificate_to_dict(certificate: Certificate) -> dict[str, Any]:
    """A certificate as plain dictionaries, lists, strings and numbers; a number that is not finite is None.

    >>> swing = mg.simulate(model, {"pin": 0.5}, 0.1)
    >>> g = mg.gradient(swing, mg.AtEnd(mg.measures.JointCoordinate("pin")), ["bob.com.z"])
    >>> kept = certificate_to_dict(g.certify())
    >>> kept["outcome"], kept["names"], kept["recipe"]["start"]["at"]
    ('passed', ['bob.com.z'], {'pin': 0.5})
    """
    found: dict[str, Any] = {key: getattr(certificate, key) for key in ("title", "outcome", "verdict", "judge")}
    found |= {key: list(getattr(certificate, key)) for key in ("notes", "outputs", "names")}
    tables = {"given": certificate.analytic, "numeric": certificate.numeric}
    tables |= {"errors": certificate.errors, "accepted": certificate.accepted}
    found |= {key: _finite(x) for key, x in tables.items()}
    if certificate.recipe is not None:
        try:
            found["recipe"] = recipe_to_dict(certificate.recipe)
        except MechgradError as error:  # a verdict is worth keeping without what it was about
            found["recipe_missing"] = str(error)
    return found


def save_certificate(certificate: Certificate, path: str | Path) -> None:
    """Write a certificate as JSON.

    Example
    -------
    >>> import json
    >>> swing = mg.simulate(model, {"pin": 0.5}, 0.1)
    >>> objective = mg.AtEnd(mg.measures.JointCoordinate("pin"))
    >>> save_certificate(mg.gradient(swing, objective, ["bob.com.z"]).certify(), "swing.json")
    >>> recipe = mg.io.recipe_from_dict(json.loads(Path("swing.json").read_text())["recipe"])
    >>> mg.gradient(recipe.simulate(), objective, ["bob.com.z"]).certify().passed
    True
    """
    text = json.dumps(certificate_to_dict(certificate), indent=1, ensure_ascii=False, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8", newline="\n")


def _finite(x: FloatArray) -> Any:
    plain = x.astype(object)
    plain[~np.isfinite(x)] = None
    return plain.tolist()
