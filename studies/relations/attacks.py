"""Relations of the attack: in goes a specimen, out comes one whose attack is granted, or told, something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from studies.relations.domain_files import declaring
from studies.relations.relation import VERDICT, Rewrite, relation
from studies.specimens import Specimen


@relation("yes or no declared as 0 to 9", VERDICT)
def _declared_wider(specimen: Specimen) -> Specimen | None:
    """A domain file with values that never occur. No promise but the verdict: errors are shares of the wider range."""
    columns = specimen.columns("binary")
    return _declaring(specimen, {name: {"kind": "ordinal", "low": 0, "high": 9} for name in columns})


@relation("yes or no declared as -1 to 1", VERDICT)
def _declared_signed(specimen: Specimen) -> Specimen | None:
    """As before, by a domain file that is wider at the other end."""
    columns = specimen.columns("binary")
    return _declaring(specimen, {name: {"kind": "ordinal", "low": -1, "high": 1} for name in columns})


@relation("yes or no declared as numeric", VERDICT)
def _declared_numeric(specimen: Specimen) -> Specimen | None:
    """A domain file with any number from 0 to 1. No promise but the verdict, as before."""
    columns = specimen.columns("binary")
    return _declaring(specimen, {name: {"kind": "numeric", "low": 0, "high": 1} for name in columns})


@relation("codes declared wider", VERDICT)
def _codes_wider(specimen: Specimen) -> Specimen | None:
    """Ordinal columns with ten more values at both ends. No promise but the verdict, as before."""
    declared = {}
    for name in specimen.columns("ordinal"):
        values = specimen.frame[name]
        declared[name] = {"kind": "ordinal", "low": int(values.min()) - 10, "high": int(values.max()) + 10}
    return _declaring(specimen, declared)


@relation("numbers declared ten times as wide", VERDICT)
def _numbers_wider(specimen: Specimen) -> Specimen | None:
    """Numeric columns with ten times their range. No promise but the verdict, as before."""
    declared = {}
    for name in specimen.columns("numeric"):
        low, high = float(specimen.frame[name].min()), float(specimen.frame[name].max())
        declared[name] = {"kind": "numeric", "low": low - 5 * (high - low), "high": high + 4 * (high - low)}
    return _declaring(specimen, declared)


@relation("one-hot columns declared one by one", VERDICT)
def _declared_apart(specimen: Specimen) -> Specimen | None:
    """A domain file that does not tell which columns exclude each other. No promise but the verdict, as before."""
    if not specimen.groups:
        return None
    return _declaring(specimen, {name: {"kind": "binary"} for name in specimen.columns("one-hot")}, grouped=False)


def _attacked_by(adversary: str) -> Rewrite:
    """Return the rewriting of who attacks."""

    def rewrite(specimen: Specimen) -> Specimen | None:
        # An informed adversary is not covered on numeric columns, and says so.
        if "informed" in adversary and specimen.columns("numeric"):
            return None
        return replace(specimen, adversary=adversary)

    return rewrite


for _weaker, _stronger in (
    ("served", "artifact"),
    ("published", "artifact"),
    ("artifact", "artifact+rows:25%"),
    ("artifact+rows:10%", "artifact+rows:30%"),
    ("artifact", "artifact+columns:1"),
    ("artifact", "artifact+informed"),
):
    # What an adversary knows is not measured, so that figures and rules on numbers of rows are about fewer rows.
    relation(f"from {_weaker} to {_stronger}", VERDICT, before=_attacked_by(_weaker))(_attacked_by(_stronger))


@relation("a longer time box", both_ways=False)
def _longer(specimen: Specimen) -> Specimen:
    """Three times the effort."""
    return replace(specimen, effort=3 * specimen.effort, seconds=3 * specimen.seconds)


@relation("another seed of the attack", frozenset({"verdict", "certain"}))
def _other_seed(specimen: Specimen) -> Specimen:
    """Other draws of the search and the baselines. No promise on the error nor on perfect rows: where several datasets
    explain the file, the guess among them is drawn (a single tree: 31 of 60 rows were perfect, then 23).
    """
    return replace(specimen, seed=specimen.seed + 1)


def _declaring(
    specimen: Specimen, attributes: Mapping[str, Mapping[str, object]], *, grouped: bool = True
) -> Specimen | None:
    """Return the specimen with a domain file that declares some attributes; None without one."""
    return declaring(specimen, attributes, grouped=grouped) if attributes else None
