"""What a failed check says besides: in go the facts on a model file, out come the cause in it and what to do."""

from __future__ import annotations

from pytest_draft.facts.adversary import Adversary
from pytest_draft.facts.examination import Examination
from pytest_draft.facts.files import ArtifactFacts

_FOR_BROKEN = "retrain so that the file keeps what it declares (a note says what breaks it), and judge the new file"
_FOR_NOISY = (
    "retrain with a smaller epsilon and judge the new file; at the same epsilon more trees mean more noise on each "
    "count, but also more counts: whether fewer or more of them help, only judging tells"
)
_FOR_LABELS = "retrain with a smaller epsilon or shallower trees (max_depth) and judge the new file"


def cause_in_file(examination: Examination) -> str | None:
    """Say what in the file lets the attack succeed."""
    artifact = examination.artifact
    if not artifact.was_read:
        return None
    if artifact.n_trees is None:
        return "the file tells which values each rule asks for, and so what each captured row can be"
    trees = f"{artifact.n_trees:,} tree{'s' * (artifact.n_trees != 1)}"
    if (privacy := artifact.privacy) is not None and not privacy.exact:
        what = "noisy class counts" if privacy.counts else "a label"
        return f"the file stores {what} ({privacy.mechanism.capitalize()}, {artifact.claim}) of every leaf of {trees}"
    published = artifact.published
    if published is not None and published.answers is not None:
        return f"the file stores {published.answers} of every leaf of {trees}, and no counts"
    stored = "class counts" if published is None or published.counts != "rows and mean targets" else "numbers of rows"
    counts = f"the file stores the {stored} of every node of {trees}"
    if privacy is not None:
        counts = f"the file stores the exact {stored} of every leaf of {trees}"
    if not artifact.bootstrap:
        return f"{counts}, each grown on all rows"
    seeded = published is None or published.seeded == artifact.n_trees
    if seeded and Adversary.parse(examination.case.adversary).name == "artifact":
        return f"{counts} and each tree's seed, which tells how often each row was drawn for it"
    return counts


def remedy_for(artifact: ArtifactFacts) -> str:
    """Say what to do about a forest that gives too much away.

    That no size of a differentially private forest is safest at every epsilon is result 2 of DRAFT-DP (SaTML 2026,
    section IV-B).
    """
    if artifact.privacy is None:
        found = artifact.published
        tell = found is not None and found.seeded and found.draws is not None
        return f"{smaller(artifact)} and judge the new file" + "; removing only the seeds is not enough" * bool(tell)
    if artifact.contradictions:
        return _FOR_BROKEN
    return _FOR_NOISY if artifact.privacy.counts else _FOR_LABELS


def smaller(artifact: ArtifactFacts) -> str:
    """Say how to retrain a model of this kind, by parameters that it has."""
    if artifact.n_trees == 1:
        return "retrain with a shallower tree (max_depth, min_samples_leaf)"
    return "retrain with fewer and shallower trees (n_estimators, max_depth, min_samples_leaf)"
