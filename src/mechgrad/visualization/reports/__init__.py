"""Pages about results that stand alone: model, settings, pictures, what was found, and whether it is right."""
