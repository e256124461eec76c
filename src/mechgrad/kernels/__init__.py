"""Compiled arithmetic: scalars in SIMD lanes, 3-vectors, rotations, small solves. Knows no mechanism."""
