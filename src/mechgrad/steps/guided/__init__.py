"""Motions that drivers decide, instant by instant, and their derivatives."""
