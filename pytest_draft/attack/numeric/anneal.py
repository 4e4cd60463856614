"""Heat-bath sweeps over what each row can be, compiled: in go nodes, rows and a temperature, out come changed rows.

One row is taken out; then, attribute by attribute, all its trees are walked once with the other attributes as they are,
which gives the energy (`energy`) of *every* state of that attribute at once, and one is drawn from
exp(-energy / temperature).
"""

from __future__ import annotations

import numpy as np

from pytest_draft.attack.numeric.dataset import NONE, lies_left, put, take
from pytest_draft.attack.numeric.energy import CostScratch, add_costs, cost_of, reach_cost, trace
from pytest_draft.compiling import compiled


@compiled
def uniform(random):  # type: ignore[no-untyped-def]
    """Return the next random number from 0 to 1 (splitmix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) / 9007199254740992.0


@compiled
def draw(random, cost, n_states, temperature):  # type: ignore[no-untyped-def]
    """Draw a state with probability exp(-cost / temperature), up to a factor; costs are used up."""
    least = np.inf
    for s in range(n_states):
        least = min(least, cost[s])
    total = 0.0
    for s in range(n_states):
        cost[s] = np.exp(-(cost[s] - least) / temperature)
        total += cost[s]
    left = uniform(random) * total
    for s in range(n_states):
        left -= cost[s]
        if left < 0:
            return s
    return n_states - 1


@compiled
def sweep(nodes, attributes, copula, data, times, fixed_label, known, rows, temperature, penalty, stop):  # type: ignore[no-untyped-def]  # noqa: PLR0912, PLR0915
    """Draw the attributes, and the label where it is not fixed, of some rows, one row after the other.

    Parameters
    ----------
    data : Dataset
        Changed in place.
    times : ndarray of int32, shape (n_trees, n_rows)
        How often each tree saw each row.
    known : ndarray of bool, shape (n_rows, n_attributes)
        Which values stay as they are.
    rows : ndarray of int64, shape (n,)
    penalty : float
        Of a split that the rows contradict; 0 leaves these out.
    stop : ndarray of uint8, shape (1,)
        Looked at before each row. Where it is raised, the other rows stay as they are.
    """
    root, left, right, attribute, cut = nodes.root, nodes.left, nodes.right, nodes.attribute, nodes.cut
    missing_left, weight, count, by_class = nodes.missing_left, nodes.weight, nodes.count, nodes.by_class
    start, log_prior, one_hot = attributes.start, attributes.log_prior, attributes.one_hot
    missing, score = attributes.missing, attributes.score
    state, label_of, draws, random = data.state, data.label, data.draws, data.random
    n_attributes, n_trees, n_classes = len(start) - 1, len(root) - 1, count.shape[1]
    most, deepest = n_classes, 0
    for a in range(n_attributes):
        most = max(most, start[a + 1] - start[a])
    for t in range(n_trees):
        deepest = max(deepest, root[t + 1] - root[t])
    cost, change = np.empty(most), np.empty(most + 1)
    order = np.arange(n_attributes)
    on_path = np.full((n_attributes, n_trees), NONE, np.int32)
    scratch = CostScratch(on_path, change, np.empty((deepest + 1, 3), np.int32), np.empty(deepest + 1))
    path, n_path = np.empty((n_trees, n_attributes), np.int32), np.zeros(n_trees, np.int32)
    for k in rows:
        if stop[0] != 0:
            break
        take(nodes, attributes, data, times, k)
        trace(k, NONE, times, state, nodes, attributes, on_path, path, n_path)
        row = state[k]
        if not fixed_label:
            cost[:n_classes] = 0.0
            for t in range(n_trees):
                m = times[t, k]
                if m == 0:
                    continue
                v = root[t]
                while True:
                    for c in range(n_classes if by_class[v] else 0):  # all labels cost the same elsewhere
                        cost[c] += weight[v] * reach_cost(draws[v, c] - count[v, c], m, 0, -1)
                    if left[v] < 0:
                        break
                    b = attribute[v]
                    v = left[v] if lies_left(cut[v], row[b], missing[b], missing_left[v]) else right[v]
            label_of[k] = draw(random, cost, n_classes, temperature)
        label = label_of[k]
        for i in range(n_attributes - 1, 0, -1):
            j = int(uniform(random) * (i + 1))
            order[i], order[j] = order[j], order[i]
        for a in order:  # type: ignore[assignment]
            first = start[a]
            n_states = start[a + 1] - first
            if n_states < 2 or known[k, a]:
                continue
            for s in range(n_states):
                cost[s] = -temperature * log_prior[first + s]
                change[s] = 0.0
            change[n_states] = 0.0
            if copula.strength > 0:
                mean = copula.mean[label, a]
                for b in range(n_attributes):
                    if b != a:
                        mean += copula.slope[a, b] * (score[start[b] + row[b]] - copula.mean[label, b])
                for s in range(n_states):
                    away = (score[first + s] - mean) / copula.deviation[a]
                    cost[s] += temperature * copula.strength * 0.5 * away * away
            n_ranged = 0 if one_hot[a] else n_states - (missing[a] >= 0)
            if n_ranged:
                add_costs(nodes, attributes, data, times, k, a, 0, n_ranged - 1, False, penalty, scratch)
            for s in range(n_ranged, n_states):
                add_costs(nodes, attributes, data, times, k, a, s, s, True, penalty, scratch)
            level = 0.0
            for s in range(n_states):
                level += change[s]
                cost[s] += level
            new = draw(random, cost, n_states, temperature)
            if new != row[a]:
                row[a] = new
                trace(k, a, times, state, nodes, attributes, on_path, path, n_path)
        put(nodes, attributes, data, times, k)


@compiled
def _change_places(data, known, k, other):  # type: ignore[no-untyped-def]
    for a in range(data.state.shape[1]):
        if not known[k, a] and not known[other, a]:
            data.state[k, a], data.state[other, a] = data.state[other, a], data.state[k, a]
    data.label[k], data.label[other] = data.label[other], data.label[k]


@compiled
def _cost_of_both(nodes, attributes, data, times, k, other, penalty):  # type: ignore[no-untyped-def]
    cost = cost_of(nodes, attributes, data, times, k, penalty)
    put(nodes, attributes, data, times, k)
    return cost + cost_of(nodes, attributes, data, times, other, penalty)


@compiled
def exchange(nodes, attributes, data, times, known, pairs, temperature, penalty, stop):  # type: ignore[no-untyped-def]
    """Let two rows change places, but for known values, where that lowers the energy, or by chance (Metropolis).

    Returns how many did, until a flag was raised.
    """
    done = 0
    for i in range(len(pairs)):
        if stop[0] != 0:
            break
        k, other = pairs[i, 0], pairs[i, 1]
        if k == other:
            continue
        take(nodes, attributes, data, times, k)
        take(nodes, attributes, data, times, other)
        cost = -_cost_of_both(nodes, attributes, data, times, k, other, penalty)
        take(nodes, attributes, data, times, k)
        _change_places(data, known, k, other)
        cost += _cost_of_both(nodes, attributes, data, times, k, other, penalty)
        if cost > 0 and uniform(data.random) >= np.exp(-cost / temperature):
            take(nodes, attributes, data, times, k)
            _change_places(data, known, k, other)
            put(nodes, attributes, data, times, k)
        else:
            done += 1
        put(nodes, attributes, data, times, other)
    return done
