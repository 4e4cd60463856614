"""Examinations on a cluster of Dask: in goes a case, out comes what a worker of it finds out.

`controller` is on this side, `worker` and `held` are on the other, `order` is what goes between them. Nothing of Dask
is imported before a `Cluster` is made.
"""
