"""The public tables of the papers: in goes a folder or nothing, out comes a folder that holds them, binarized.

Without a folder they are fetched from OpenML by scikit-learn, and binarized by `recipes`.
"""

from studies.datasets.fetching import folder_of

__all__ = ["folder_of"]
