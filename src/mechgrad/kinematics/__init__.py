"""Where is it? Poses, velocities, accelerations and Jacobians of bodies, points and vectors; knows no mass and no
force."""
