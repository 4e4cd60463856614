"""Rule ``per-row-vectors``: whether some array of the file has an entry for each training row."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_draft.facts.contents import Vector
from pytest_draft.facts.files import ArtifactFacts
from pytest_draft.policy.rule import NotApplicable, Outcome, Rule, Thresholds

_MOST_SHOWN = 3  # arrays that a sentence names; of the others it tells how many there are


def check(artifact: ArtifactFacts, thresholds: Thresholds) -> Outcome:
    """Fail when an array is as long as the training data, and nothing else explains that."""
    found = artifact.contents
    if found is None or not found.n_rows:
        return Outcome("inconclusive", "the number of training rows is not known: add --draft-data")
    n_rows = " or ".join(f"{n:,}" for n in found.n_rows)
    if found.by_row:
        sentence = f"the file has {_shown(found.by_row)} with an entry for each of {n_rows} training rows"
        return Outcome("failed", sentence, _remedy(found.by_row))
    if found.perhaps_by_row:
        return Outcome(
            "inconclusive",
            f"the file has {_shown(found.perhaps_by_row)} with as many entries as there are training rows ({n_rows}), "
            "which is also a length that the model explains: look at it",
        )
    return Outcome("passed", f"no array of the file has an entry for each of {n_rows} training rows")


_UNUSED = {
    "_sample_weight": "class_weight or sample_weight",
    "oob_decision_function_": "oob_score",
    "oob_prediction_": "oob_score",
}
"""What scikit-learn stores and no prediction needs, and what to train without so that it does not."""


def _remedy(vectors: Sequence[Vector]) -> str:
    """Say what to do about just these arrays."""
    names = [vector.path for vector in vectors[:_MOST_SHOWN]]
    said = ", ".join(names) + (f" and {len(vectors) - _MOST_SHOWN:,} more" if len(vectors) > _MOST_SHOWN else "")
    causes = [_UNUSED.get(vector.path.rpartition(".")[2]) for vector in vectors]
    without = dict.fromkeys(cause for cause in causes if cause is not None)
    harmless = "" if None in causes else ", which changes no prediction"
    trained = f", or train without {' and '.join(without)}" if without else ""
    return f"delete {said} before saving the model{harmless}{trained}, and judge the new file"


def _shown(vectors: Sequence[Vector]) -> str:
    """Return paths and shapes, the first few."""
    named = [f"{vector.path} ({' x '.join(f'{n:,}' for n in vector.shape)})" for vector in vectors[:_MOST_SHOWN]]
    more = f" and {len(vectors) - _MOST_SHOWN:,} more" if len(vectors) > _MOST_SHOWN else ""
    return f"{len(vectors):,} array{'s' * (len(vectors) != 1)}, {', '.join(named)}{more},"


RULE = Rule(
    id="per-row-vectors",
    needs=ArtifactFacts,
    beside=True,
    keys={},
    check=check,
    unless=(NotApplicable.NOT_GIVEN,),
    rationale=(
        "An array with an entry for each training row is about persons one by one, in the order of the training data. "
        "From scikit-learn 1.9 on, _sample_weight of a forest with class_weight is its label column; the out-of-bag "
        "votes of oob_score tell who is an outlier (membership and inference, WP 216 of the Article 29 Working Party, "
        "section 2.2; GDPR article 25: data that the purpose does not need)."
    ),
    remedy=(
        "delete what the message names before saving the model, or train so that it is not stored, and judge the new "
        "file"
    ),
)
