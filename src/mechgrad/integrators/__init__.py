"""HOW DOES IT MOVE? Schemes and compiled marches: from a state to a Trajectory."""
