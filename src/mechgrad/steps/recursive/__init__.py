"""Derivatives of explicit steps of open trees, body by body: O(n)."""
