"""Evaluation: in go a reconstruction and the truth, out come findings. The truth enters here and nowhere before."""
