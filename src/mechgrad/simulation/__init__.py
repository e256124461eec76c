"""How does it move: states, `simulate` and the motion that it returns."""
