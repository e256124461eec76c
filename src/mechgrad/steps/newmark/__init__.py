"""Implicit steps of the Newmark family: ALI3-P, index-1, penalty and open trees, and their derivatives."""
