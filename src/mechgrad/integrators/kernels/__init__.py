"""Compiled time loops."""
