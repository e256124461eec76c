"""Which coordinates are independent: the candidates, what is chosen among them along a motion, and where that fails."""
