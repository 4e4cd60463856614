"""Forests that a mechanism of differential privacy has released: noisy counts, or labels alone."""
