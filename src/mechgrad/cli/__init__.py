"""The command line: turns arguments into library calls and results into tables; holds no mechanics of its own."""
