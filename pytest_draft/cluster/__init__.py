"""Examinations on a Dask cluster: sends cases to workers and returns what they find out.

`controller` is on this side, `worker` and `held` are on the other, `order` is what goes between them. Nothing of Dask
is imported before a `Cluster` is made.
"""
