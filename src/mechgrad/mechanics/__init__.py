"""What acts, for any mechanism at a state: loops, constraints and force elements included."""
