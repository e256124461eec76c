"""How does it step: every kind of step beside its derivative. Knows equations of motion, no verbs and no results."""
