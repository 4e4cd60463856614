"""Rule ``entropy-reduction``: how much of the uncertainty about its training rows a model may take away."""

from __future__ import annotations

from pytest_draft.facts.entropy import Between, Entropy
from pytest_draft.policy.bar import Bar, bound
from pytest_draft.policy.rule import Key, Outcome, Rule, Thresholds, combined

_ROUNDING = 1e-12  # a ratio is a quotient of logarithms: an equal one passes, whatever its last digit


def check(entropy: Entropy, thresholds: Thresholds) -> Outcome:
    """Fail when more of the uncertainty is surely gone than allowed; pass when surely no more than that is."""
    outcomes = []
    for key, what, ratio in (
        ("max_entropy_reduction", "the uncertainty about the training rows", entropy.ratio),
        ("max_row_entropy_reduction", "the uncertainty about the most exposed row", entropy.lowest_row),
    ):
        if key in thresholds:
            bar = Bar(thresholds[key], f"{key} allows at most {thresholds[key]:.4g}", rounding=_ROUNDING)
            outcomes.append(_against(ratio.rest, bar, what))
    return combined(outcomes)


def _against(gone: Between, bar: Bar, what: str) -> Outcome:
    exact = gone.exact is not None
    return bar.judge(
        (gone.lower, gone.upper),
        f"the model takes away {bound('at most', gone.upper, exact)} of {what}",
        f"the model takes away {bound('at least', gone.lower, exact)} of {what}",
        f"the model takes away between {gone.lower:.4f} and {gone.upper:.4f} of {what}; it is not known more exactly",
    )


RULE = Rule(
    id="entropy-reduction",
    needs=Entropy,
    keys={
        "max_entropy_reduction": Key.share(
            "fail when the model takes away more than this share of the uncertainty about all rows"
        ),
        "max_row_entropy_reduction": Key.share(
            "fail when it takes away more than this share of the uncertainty about some row"
        ),
    },
    check=check,
    rationale=(
        "A single tree or a rule list tells of each training row in which leaf it was, or which rule captured it, and "
        "so what its values can be. The share of the uncertainty that is gone with that (Ferry et al., SaTML 2024, "
        "definition 4) needs no search and differs much from row to row."
    ),
    remedy=(
        "retrain with fewer splits or rules (max_depth, max_leaf_nodes, fewer and shorter rules), which is what leaves "
        "more open, and judge the new file"
    ),
)
