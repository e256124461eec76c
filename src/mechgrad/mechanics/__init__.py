"""What acts, for any mechanism in given states: knows trees, springs, constraints, drivers and closed loops alike."""
