"""Derivatives of explicit steps by recursive elimination, body by body: O(n)."""
