"""Learners to compare: in go rows of zeros and ones with binary labels, out comes a `Tree` or a `RuleList`.

They are those of Ferry et al., Probabilistic Dataset Reconstruction from Interpretable Models (SaTML 2024), section V:
greedy ones and ones that are optimal in training accuracy, each under a limit of size and a least support.
"""
