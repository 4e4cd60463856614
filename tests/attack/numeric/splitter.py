"""The random splitter once more, slow and plain, on the true rows: what every node drew. Needs NumPy only."""

from dataclasses import dataclass

import numpy as np

RAND_R_MAX = 2**31 - 1


@dataclass(frozen=True, repr=False)
class Grown:
    """One fitted tree with the rows that it was trained on."""

    tree: object
    rows: np.ndarray
    columns: np.ndarray

    @property
    def nodes(self):
        return self.tree.tree_

    def reaching(self):
        """Return which rows reach each node, and their values in single precision."""
        rows = np.ascontiguousarray(self.rows[:, self.columns], dtype=np.float32)
        return self.tree.decision_path(rows).toarray().astype(bool), rows

    def extremes(self):
        """Return the tested column's minimum and maximum at each node; NaN at leaves."""
        reach, rows = self.reaching()
        low, high = np.full((2, self.nodes.node_count), np.nan)
        for node in np.flatnonzero(self.nodes.children_left >= 0):
            values = rows[reach[:, node], self.nodes.feature[node]]
            low[node], high[node] = values.min(), values.max()
        return low, high

    def winners(self):
        """Return the number behind each threshold; -1 at leaves."""
        model, nodes = self.tree, self.nodes
        reach, rows = self.reaching()
        n_columns, best_first = rows.shape[1], model.max_leaf_nodes is not None
        deepest = np.inf if model.max_depth is None else model.max_depth
        whole = isinstance(model.min_samples_leaf, (int, np.integer))
        in_leaf = model.min_samples_leaf if whole else int(np.ceil(model.min_samples_leaf * len(self.rows)))
        to_split = max(model.min_samples_split, 2, 2 * in_leaf)
        least_weight = 2 * model.min_weight_fraction_leaf * nodes.weighted_n_node_samples[0]
        state = np.random.RandomState(model.random_state).randint(0, RAND_R_MAX)

        def number():
            nonlocal state
            state ^= (state << 13) & 0xFFFFFFFF
            state ^= state >> 17
            state ^= (state << 5) & 0xFFFFFFFF
            return state % 2**31

        order, depth, inherited, winner = list(range(n_columns)), {0: 0}, {0: []}, np.full(nodes.node_count, -1)
        for node in range(nodes.node_count):
            known = [] if best_first else inherited[node]
            if (
                depth[node] >= deepest
                or nodes.n_node_samples[node] < to_split
                or nodes.weighted_n_node_samples[node] < least_weight
                or nodes.impurity[node] <= np.finfo(float).eps
            ):
                constants = known
            else:
                order[: len(known)] = known
                drawn_known, new, varying, visited = 0, 0, 0, 0
                while n_columns - varying > len(known) + new and (
                    visited < model.max_features_ or visited <= drawn_known + new
                ):
                    visited += 1
                    place = drawn_known + number() % (n_columns - varying - new - drawn_known)
                    if place < len(known):
                        order[drawn_known], order[place] = order[place], order[drawn_known]
                        drawn_known += 1
                        continue
                    place += new
                    column = order[place]
                    values = rows[reach[:, node], column]
                    if values.max() <= values.min() + np.float32(1e-7):
                        order[place], order[len(known) + new] = order[len(known) + new], column
                        new += 1
                    else:
                        varying += 1
                        order[n_columns - varying], order[place] = column, order[n_columns - varying]
                        drawn = number()
                        if column == nodes.feature[node]:
                            winner[node] = drawn
                order[: len(known)] = known
                constants = order[: len(known) + new]
            for child in (nodes.children_left[node], nodes.children_right[node]):
                if child >= 0:
                    depth[child], inherited[child] = depth[node] + 1, list(constants)
        return winner


def grown(model, rows):
    """Return the trees of a fitted model with the rows that each was trained on."""
    trees = getattr(model, "estimators_", [model])
    columns = getattr(model, "estimators_features_", [np.arange(rows.shape[1])] * len(trees))
    if hasattr(model, "estimators_features_"):
        drawn = model.estimators_samples_
    elif getattr(model, "bootstrap", False):
        drawn = [np.random.RandomState(tree.random_state).randint(0, len(rows), len(rows)) for tree in trees]
    else:
        drawn = [np.arange(len(rows))] * len(trees)
    return [Grown(tree, rows[np.unique(own)], of) for tree, own, of in zip(trees, drawn, columns, strict=True)]
