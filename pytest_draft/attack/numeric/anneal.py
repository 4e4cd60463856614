"""Heat-bath sweeps over what each row can be, compiled: in go nodes, rows and a temperature, out come changed rows.

One row is taken out; then, attribute by attribute, what *every* state of that attribute adds (`energy`) is known at
once (`pytest_draft.attack.moves`), and one is drawn from exp(-energy / temperature).
"""

from __future__ import annotations

import numpy as np

from pytest_draft.attack.compiled_trees import NONE, goes_right
from pytest_draft.attack.moves import changes_of, drawn, gain_of, trace, uniform
from pytest_draft.attack.numeric.dataset import count_row
from pytest_draft.compiling import compiled


@compiled
def _draw_label(nodes, data, k, temperature, scratch):  # type: ignore[no-untyped-def]
    """Draw the label of a row that is out."""
    root, attribute, right, child = nodes.walks.root, nodes.walks.attribute, nodes.walks.right, nodes.walks.child
    weight, count, by_class, draws, gain = nodes.weight, nodes.count, nodes.by_class, data.draws, scratch.weight
    n_classes, values, times = count.shape[1], data.state[k], data.times[:, k]
    gain[:n_classes] = 0.0
    for t in range(len(times)):
        m, v = times[t], root[t]
        while m > 0:
            for c in range(n_classes if by_class[v] else 0):  # all labels add the same elsewhere
                away = draws[v, c] - count[v, c]
                gain[c] += weight[v] * (abs(away) - abs(away + m))
            a = attribute[v]
            if a < 0:
                break
            v = child[2 * v + goes_right(right, v, values[a])]
    gain[:n_classes] /= temperature
    data.label[k] = drawn(gain, n_classes, uniform(data.random))


@compiled
def sweep(nodes, copula, data, fixed_label, rows, temperature, scratch, stop):  # type: ignore[no-untyped-def]
    """Draw the attributes, and the label where it is not fixed, of some rows, one row after the other.

    Parameters
    ----------
    nodes : NodeArrays
    copula : Copula
    data : Dataset
        Changed in place.
    fixed_label : bool
    rows : ndarray of int64, shape (n,)
    temperature : float
    scratch : Scratch
    stop : ndarray of uint8, shape (1,)
        Looked at before each row. Where it is raised, the other rows stay as they are.
    """
    walks, start, log_prior, score, random = nodes.walks, nodes.start, copula.log_prior, copula.score, data.random
    weight, change = scratch.weight, scratch.change
    n_attributes = len(start) - 1
    order = np.arange(n_attributes)
    for k in rows:
        if stop[0] != 0:
            break
        count_row(nodes, data, k, -1)
        values, times, leaf = data.state[k], data.times[:, k], data.leaf[:, k]
        trace(walks, values, times, NONE, scratch)
        if not fixed_label:
            _draw_label(nodes, data, k, temperature, scratch)
        label = data.label[k]
        for i in range(n_attributes - 1, 0, -1):
            j = int(uniform(random) * (i + 1))
            order[i], order[j] = order[j], order[i]
        for a in order:
            first = start[a]
            n_states = start[a + 1] - first
            if n_states < 2 or data.fixed[k, a]:
                continue
            changes_of(walks, nodes, data, values, label, times, leaf, a, n_states, True, scratch)
            for s in range(n_states):
                weight[s] = change[s] / temperature + log_prior[first + s]
            if copula.strength > 0:
                mean = copula.mean[label, a]
                for b in range(n_attributes):
                    if b != a:
                        mean += copula.slope[a, b] * (score[start[b] + values[b]] - copula.mean[label, b])
                for s in range(n_states):
                    away = (score[first + s] - mean) / copula.deviation[a]
                    weight[s] -= copula.strength * 0.5 * away * away
            new = drawn(weight, n_states, uniform(random))
            if new != values[a]:
                values[a] = new
                trace(walks, values, times, a, scratch)
        count_row(nodes, data, k, 1)


@compiled
def exchange(nodes, data, pairs, temperature, stop):  # type: ignore[no-untyped-def]
    """Let two rows change places, but for fixed values, where that lowers the energy, or by chance (Metropolis).

    Returns how many did, until a flag was raised.
    """
    done, walks, state, label, times, fixed = 0, nodes.walks, data.state, data.label, data.times, data.fixed
    for i in range(len(pairs)):
        if stop[0] != 0:
            break
        k, other = pairs[i, 0], pairs[i, 1]
        if k == other:
            continue
        gain = 0.0
        count_row(nodes, data, other, -1)
        for side in (-1, 1, 0):  # as they are, each in the other's place, and back
            if side == 0 and (gain >= 0 or uniform(data.random) < np.exp(gain / temperature)):
                done += 1
                break
            count_row(nodes, data, k, -1)
            if side >= 0:
                for a in range(state.shape[1]):
                    if not fixed[k, a] and not fixed[other, a]:
                        state[k, a], state[other, a] = state[other, a], state[k, a]
                label[k], label[other] = label[other], label[k]
            of_both = gain_of(walks, nodes, data, state[k], label[k], times[:, k])
            count_row(nodes, data, k, 1)
            of_both += gain_of(walks, nodes, data, state[other], label[other], times[:, other])
            gain += side * of_both
        count_row(nodes, data, other, 1)
    return done
