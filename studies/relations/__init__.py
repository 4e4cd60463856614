"""What must not make a verdict milder: in goes a specimen, out come two that must be judged alike, or the second worse.

Each relation rewrites how a table (`studies.relations.tables`) or a model (`studies.relations.models`) is written, or
how it is attacked (`studies.relations.attacks`), and states what must hold then: see `studies.relations.relation`.
"""

from studies.relations import attacks, models, tables
from studies.relations.relation import RELATIONS, RETRAINED, SAME, VERDICT, Promise, Relation, Rewrite

__all__ = [
    "RELATIONS",
    "RETRAINED",
    "SAME",
    "VERDICT",
    "Promise",
    "Relation",
    "Rewrite",
    "attacks",
    "models",
    "tables",
]
