"""Small drawings of mechanisms in points and vectors."""

import numpy as np

from mechgrad.model.drawing import NaturalBody
from mechgrad.model.natural import model_from_points

X, Y, Z = np.eye(3)
AXES = {"ex": X, "ey": Y, "ez": Z}
PLACES = {"O": (0, 0, 0), "P": (0.5, 0, 0), "Q": (0.2, 0.3, 0.1), "T": (0.5, 0.4, 0)}


def two_bodies(ground, moving, *relations, **options):
    """A body with one joint to the ground."""
    owned = {"ground": ground.split(), "body": moving.split()}
    parts = [
        NaturalBody(
            body,
            [name for name in names if name in PLACES],
            [name for name in names if name in AXES],
            mass=float(body != "ground"),
            inertia=np.eye(3) * (body != "ground"),
        )
        for body, names in owned.items()
    ]
    used = {*owned["ground"], *owned["body"]}
    return model_from_points(
        "two",
        {name: x for name, x in PLACES.items() if name in used},
        parts,
        vectors={name: u for name, u in AXES.items() if name in used},
        constraints=relations,
        **options,
    )
