"""Finds the model in the inert record of a whole file: a `View` with its `Forest` or `RuleList`.

Only the attributes that a model needs are looked at, one by one and by name; everything else stays
opaque and is listed as not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pytest_draft.artifact.boosted_tree import require_range
from pytest_draft.artifact.boosters import READERS
from pytest_draft.artifact.budget import Budget
from pytest_draft.artifact.encoder import Encoder
from pytest_draft.artifact.forest import Forest
from pytest_draft.artifact.forest.observations import Answers, BoostedSums
from pytest_draft.artifact.objects import Object, with_article
from pytest_draft.artifact.origin import ORIGINAL, Origin
from pytest_draft.artifact.places import FoundModel, models_in
from pytest_draft.artifact.read_forest import ReadForest
from pytest_draft.artifact.records import Global, Mapping, Record
from pytest_draft.artifact.release import Member
from pytest_draft.artifact.rules.corels import is_corels, stored_corels
from pytest_draft.artifact.rules.greedy import GREEDY, greedy_rule_list
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.artifact.sklearn.declared_privacy import REPLAYED
from pytest_draft.artifact.sklearn.estimators import ForestReader
from pytest_draft.artifact.sklearn.outputs import copied
from pytest_draft.artifact.sklearn.pipeline import with_transformers
from pytest_draft.artifact.world.account import NO_ACCOUNT, Account, account_of
from pytest_draft.artifact.world.contents import NOTHING, Contents, contents_of
from pytest_draft.artifact.world.unjudged import ALONE, Unjudged, unjudged_trees
from pytest_draft.errors import NotCoveredError, SeveralModelsError, UnsupportedArtifactError, listed, one_line
from pytest_draft.facts.privacy import Privacy
from pytest_draft.facts.published import Drawn, Published
from pytest_draft.facts.rules import ListedRule


@dataclass(frozen=True, eq=False)
class View:
    """What was read of a model file, and what was not."""

    holds: str
    """One line: what the file holds, e.g. ``RandomForestClassifier, 100 trees, 19 columns, 2 classes``."""
    model: Forest | RuleList
    not_read: tuple[str, ...]
    """Attribute paths in the file that were left opaque."""
    encoder: Encoder | None = None
    """What the file's transformers make of raw columns; None where none stands before the forest."""
    not_covered: str | None = None
    """Why it is not known what the file's transformers make of raw columns, which rows the model was trained on or what
    its trees say of them: no rows can be judged by such a file, only what stands in it. None where that is known.
    """
    contents: Contents = field(default=NOTHING, repr=False)
    """All else that stands in the file."""
    account: Account = NO_ACCOUNT
    """What of that has no reason to be there, and what holds rows by its nature."""
    unjudged: Unjudged = ALONE
    """Its fitted trees that are no model's that is judged."""
    origin: Origin = ORIGINAL
    """How the rows and labels that the model was trained on follow from those of the whole file."""
    places: tuple[str, ...] = ()
    """Where all models of the file stand; empty where there is but one."""
    given: tuple[str, ...] = ()
    """Places of models that were fitted before they were given to a model that fits copies of them."""
    released: str | None = None
    """One line on which file of a release is judged, and what becomes of the others; None of a file by itself."""
    beside: tuple[Member, ...] = field(default=(), repr=False)
    """Of a release of several files: those that are no model and no objects that could be read."""
    beyond: str | None = None
    """What is judged that an adversary does not have, who gets no further for that; None for nothing."""

    def with_file(self, name: str, other: View) -> View:
        """Return it with what stands in another file of its release, in which no model was found."""

        def at(path: str) -> str:
            return f"{name}: {path}" if path else name

        mine, theirs, account, their_account = self.contents, other.contents, self.account, other.account
        return replace(
            self,
            contents=replace(
                mine,
                arrays=(*mine.arrays, *(replace(one, path=at(one.path)) for one in theirs.arrays)),
                opaque=(*mine.opaque, *map(at, theirs.opaque)),
                learned=(*mine.learned, *(replace(one, path=at(one.path)) for one in theirs.learned)),
                transformers=(*mine.transformers, *theirs.transformers),
                all_undone=mine.all_undone and theirs.all_undone,
                names=(*mine.names, *theirs.names),
                counted=(*mine.counted, *((at(path), least) for path, least in theirs.counted)),
            ),
            account=replace(
                account,
                unexplained=(
                    *account.unexplained,
                    *(replace(one, path=at(one.path)) for one in their_account.unexplained),
                ),
                kept=(*account.kept, *(replace(one, path=at(one.path)) for one in their_account.kept)),
                plain=account.plain + their_account.plain,
                names=(*account.names, *their_account.names),
            ),
            unjudged=Unjudged(
                (*self.unjudged.places, *((at(path), number) for path, number in other.unjudged.places)),
                self.unjudged.complete and other.unjudged.complete,
            ),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Artifact(View):
    """A model file that was read, never run."""

    path: str
    """As given."""
    sha256: str
    """Of exactly the bytes that were read."""
    size: int
    """Bytes."""

    @property
    def forest(self) -> Forest:
        """The model, where it is a forest.

        Raises
        ------
        NotCoveredError
            Where it is a rule list.
        """
        if isinstance(self.model, RuleList):
            raise NotCoveredError(
                f"{one_line(Path(self.path).name or self.path, 120)} holds a rule list ({self.model.kind}), no forest: "
                "it is judged by the rule entropy-reduction"
            )
        return self.model


def view(root: object, budget: Budget, place: str | None = None) -> View:
    """Find the forest or the rule list in a file and check it.

    Parameters
    ----------
    root : object
        What the interpreter made of the file.
    place : str or None
        Which of several models, as in `View.places`.

    Raises
    ------
    SeveralModelsError
        If the file holds several, and no place is given.
    UnsupportedArtifactError
        If it holds something else, nothing at this place, or a forest of a kind that is not covered.
    CorruptArtifactError
        If the model contradicts itself.
    """
    if isinstance(root, Record) and root.cls.key in GREEDY:
        rules = Object(root)
        return _with_contents(view_of_rules(*greedy_rule_list(rules)), root, budget, [root], [root], rules.asked)
    if is_corels(root):
        lists = [root, *(root.attributes().values() if isinstance(root, Record) else ())]
        return _with_contents(view_of_rules(*stored_corels(root)), root, budget, [root], filter(is_corels, lists))
    models = models_in(root, budget)
    places = tuple(found.place for found in models)
    model = models[0] if len(models) == 1 else _at(models, place)
    elsewhere = [found.estimator.record for found in models if found is not model]
    estimator, wrappers, transformers = model.estimator, model.wrappers, model.transformers
    booster, inner = read_estimator(estimator, budget)
    forest = booster.forest
    _require_range(forest)
    encoder = transformers.encoder(forest.n_features)
    parts = (*wrappers, *transformers.parts, estimator, *inner)
    paths = {path for part in parts for path in part.not_read()}.union(booster.not_read)
    before = "" if encoder is None else f", behind {' + '.join(encoder.transformers)}"
    if transformers.not_covered is not None:
        before = ", behind transformers that are not covered"
    inside = "".join(f", in {with_article(wrapper.kind)}" for wrapper in reversed(wrappers))
    found = View(
        _holds(forest) + before + inside,
        forest,
        tuple(sorted(one_line(path) for path in paths)),
        encoder,
        transformers.not_covered or model.not_covered or booster.not_covered,
        origin=model.origin if booster.held_back is None else model.origin.then(booster.held_back),
        places=places if len(places) > 1 else (),
        given=tuple(one.place for one in models if one.given) if len(places) > 1 else (),
    )
    records = [part.record for part in parts]
    judged = [estimator.record, *(part.record for part in inner)]
    found = _with_contents(
        found, root, budget, records, judged, frozenset().union(*(part.asked for part in parts)), elsewhere=elsewhere
    )
    contents, inside_booster = found.contents, booster.contents
    contents = replace(
        contents,
        arrays=(*contents.arrays, *inside_booster.arrays),
        opaque=(*contents.opaque, *inside_booster.opaque),
        learned=(*contents.learned, *inside_booster.learned),
    )
    return replace(found, contents=contents, model=replace(forest, scaled=_scaled(encoder, contents)))


def _scaled(encoder: Encoder | None, contents: Contents) -> str:
    """Return what scalers in front of a forest or beside it say of how its table was scaled."""
    if encoder is None:
        beside = [one.does for one in contents.transformers if isinstance(one.does, Encoder)]
        names = {name for does in beside if all(column.scales for column in does.columns) for name in does.transformers}
        scalers = " and ".join(with_article(name) for name in sorted(names))
        return f" There is {scalers} beside the forest: give the table as transform() returns it" if names else ""
    scales = [step for column in encoder.columns for step in column.scales]
    if not scales or not all(step.changes_nothing for step in scales):
        return ""
    return " Its scaler changes nothing (it has learned 0 and 1): fit() was given a table that was scaled already"


def read_estimator(estimator: Object, budget: Budget) -> tuple[ReadForest, list[Object]]:
    """Read a tree ensemble, and return the inner objects that were looked at, too."""
    read_booster = READERS.get(estimator.record.cls.key)
    if read_booster is not None:
        return read_booster(estimator, budget)
    reader = ForestReader(estimator, budget)
    forest = reader.forest()
    return ReadForest(forest, reader.not_covered, held_back=reader.held_back), reader.parts


def _at(models: Sequence[FoundModel], place: str | None) -> FoundModel:
    """Return the model at a place."""
    places = tuple(found.place for found in models)
    if place is None:
        raise SeveralModelsError(
            f"it holds {len(places)} models, each to be judged by itself: {listed(places)}", places=places
        )
    for found in models:
        if found.place == place:
            return found
    raise UnsupportedArtifactError(f"it holds no model at {one_line(place)}, but at {listed(places)}")


def _with_contents(
    view: View,
    root: object,
    budget: Budget,
    parts: Iterable[object],
    model: Iterable[object],
    understood: frozenset[tuple[int, str]] = frozenset(),
    elsewhere: Sequence[Record] = (),
) -> View:
    """Return a view with all else that the file holds: its arrays, and the fitted trees of no model that is judged."""
    contents = _all_contents(root, budget, understood)
    unjudged = unjudged_trees(root, parts, model, contents, elsewhere=elsewhere)
    contents = with_transformers(contents, root, budget)
    account = account_of(root, budget, understood)
    return replace(view, contents=contents, account=account, unjudged=unjudged)


def _all_contents(root: object, budget: Budget, understood: frozenset[tuple[int, str]] = frozenset()) -> Contents:
    """Return all that a file holds, also what loading reads and drops."""
    contents = contents_of(root, budget, understood)
    if not budget.dropped:
        return contents
    apart = Record(Global("builtins", "object"), ())
    apart.state = Mapping([("dropped", budget.dropped)])
    dropped = contents_of(apart, budget)
    arrays, opaque = (*contents.arrays, *dropped.arrays), (*contents.opaque, *dropped.opaque)
    return replace(contents, arrays=arrays, opaque=opaque)


def view_beside(root: object, budget: Budget, refused: object) -> View:
    """Return what a file holds in which no model is found: all of it can be searched for training rows.

    Parameters
    ----------
    refused : object
        What a reader found in a model that it refused, as `Contents`.
    """
    contents = _all_contents(root, budget)
    trees = unjudged_trees(root, (), (), contents)
    contents, account = with_transformers(contents, root, budget), account_of(root, budget)
    if isinstance(refused, Contents):
        contents = replace(contents, arrays=(*contents.arrays, *refused.arrays), counted=refused.counted)
    nothing = RuleList("no model", (ListedRule((), 0),), None, None, ())
    account = replace(account, unexplained=(*budget.unused, *account.unexplained))
    return View("no model", nothing, (), contents=contents, account=account, unjudged=trees)


def view_of_rules(rules: RuleList, not_read: Sequence[str]) -> View:
    """Return the view of a rule list and of what else is in its file."""
    columns = _count(len(rules.tested), "tested column")
    if rules.n_features is not None:
        columns = _count(rules.n_features, "column")
    holds = ", ".join((rules.kind, _count(rules.n_rules, "rule"), columns, f"{rules.n_classes} classes"))
    others = tuple(sorted({one_line(path) for path in not_read}))
    return View(holds, rules, others, contents=Contents(opaque=others))


def view_of_forest(found: ReadForest, around: str = "") -> View:
    """Return the view of a file in a format that holds one forest, and what to add to what it holds."""
    _require_range(found.forest)
    return View(
        _holds(found.forest) + around,
        found.forest,
        found.not_read,
        not_covered=found.not_covered,
        contents=found.contents,
    )


def _require_range(forest: Forest) -> None:
    if isinstance(forest.observation, BoostedSums):
        require_range(forest.observation, forest.trees)


def _holds(forest: Forest) -> str:
    parts = [forest.kind, _count(forest.n_trees, "tree"), _count(forest.n_features, "column")]
    if forest.classes is not None:
        parts.append(f"{forest.n_classes} class{'es' if forest.n_classes != 1 else ''}")
    if (privacy := forest.observation.privacy) is not None:
        parts.append(_declared(privacy))
    if (words := forest.observation.in_words) is not None:
        parts.append(words)
    return ", ".join(parts)


def _declared(privacy: Privacy) -> str:
    """Return the declared privacy and what it was given to, e.g. ``epsilon 5 (Laplace noise on counts)``."""
    budget = f"epsilon {privacy.epsilon:g}" + (f", delta {privacy.delta:g}" if privacy.delta else "")
    if privacy.exact:
        return f"{budget} (but exact counts)"
    noise = f"{privacy.mechanism.capitalize()} noise on counts"
    return f"{budget} ({noise if privacy.counts else 'labels only'})"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def as_answered(artifact: Artifact, *, labels: bool = False) -> Artifact:
    """Return a file as somebody has it who may only ask its model: what a perfect copy holds, which is found by asking.

    Nothing of what stands beside the model, but values that its encoders know: a model answers otherwise to others.

    Parameters
    ----------
    labels : bool
        Whether it answers labels alone, of which an exact copy of probabilities tells no less.
    """
    copy = copied(artifact.model) if isinstance(artifact.model, Forest) else None
    beyond = "probabilities, where it answers labels alone" if labels and artifact.model.classes is not None else None
    if copy is None:
        beyond = f"more than its answers: all that the file holds of its {artifact.model.kind}"
    categories = tuple(one for one in artifact.contents.arrays if one.categories)
    return replace(
        artifact,
        model=artifact.model if copy is None else copy,
        not_read=(),
        contents=replace(artifact.contents, arrays=categories, opaque=(), names=()),
        account=NO_ACCOUNT,
        beside=(),
        beyond=beyond,
    )


def published(artifact: Artifact) -> Published:
    """Return what a file publishes of the draws and the counts behind its leaves.

    A generator that an ensemble was given, in place of a number, is stored in its last state. It can be run backwards
    to the seeds, which is why it counts as a seed.
    """
    model = artifact.model
    if artifact.beyond is not None and not isinstance(getattr(model, "observation", None), Answers):
        return Published(0, None, None)
    if not isinstance(model, Forest):
        return Published(0, None, None if model.counts is None else "rows of each class")
    stored = type(model.parameters.get("random_state")) is int or any(
        path.rpartition(".")[2] == "random_state" and "[1]." not in path for path in artifact.not_read
    )  # a transformer's path has the second of a step's name and estimator
    draws: Drawn = "rows" if model.draws.drawn else None
    if draws is None and _draws_thresholds(model):
        draws = "thresholds"
    if (privacy := model.observation.privacy) is not None:
        stored, draws = REPLAYED in privacy.broken_by, "noise"
    seeded = model.n_trees if stored else sum(tree.seed is not None for tree in model.trees)
    return model.observation.published(seeded, draws, np.concatenate([tree.value[tree.leaves] for tree in model.trees]))


def _draws_thresholds(forest: Forest) -> bool:
    """Return whether the trees' thresholds were drawn at random, so that a seed reveals between which values."""
    return forest.kind.startswith("ExtraTree") or forest.splitter == "random"
