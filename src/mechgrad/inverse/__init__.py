"""What drives it? Generalized forces of a motion, accelerations of given forces, and all their derivatives."""
