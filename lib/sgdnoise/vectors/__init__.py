"""Vectors in registers, and the sums over chosen rows of a matrix that both engines are made of."""
