"""What is to be judged: each model file with the settings and policies that apply to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from pytest_draft.bounded import MODEL_BYTES, TABLE_BYTES, sha256, what_failed
from pytest_draft.errors import PolicyError, one_line
from pytest_draft.plugin.inputs import NamedFiles, exists
from pytest_draft.plugin.settings import Settings
from pytest_draft.policy.policy import Policy, default_policy, read_policy


@dataclass(frozen=True)
class Configured:
    """One model file to be judged, with what is configured for it."""

    forest: Path
    inputs: NamedFiles
    """The files and names that it is judged with."""
    policy: Policy
    """That is in force for it."""
    policy_of_items: Policy
    """The policy with the comparison, where an earlier report is given: by this its own items are judged."""
    adversaries: tuple[str, ...]
    """Who attacks: the command line's are added to an explicit policy's, and replace the default's."""

    @property
    def explicit_policy(self) -> Policy | None:
        """The policy that somebody has named; None where it is the default."""
        return self.policy if self.policy.explicit else None


@dataclass(frozen=True)
class Models:
    """The model files of a run, each with what is configured for it."""

    each: Mapping[Path, Configured]
    """In the order in which they are judged."""
    usual: Configured
    """Of a file that is not among them, such as one that a project's own fixture brings."""

    @classmethod
    def of(cls, settings: Settings) -> Models:
        """Read the policies, and refuse what does not fit.

        Raises
        ------
        PolicyError
        """

        @cache
        def read(path: Path | None) -> tuple[Policy, Policy]:
            policy = _pinned(read_policy(path) if path else default_policy(), settings)
            return policy, policy.with_comparison if settings.compare else policy

        def configured(forest: Path, inputs: NamedFiles) -> Configured:
            try:
                policy, of_items = read(inputs.policy)
            except PolicyError as error:
                if inputs.origin is None:
                    raise
                raise PolicyError(f"{inputs.origin}.policy: {error}") from None
            given, by_policy = settings.adversaries, policy.adversaries
            asked = ((*by_policy, *given) if policy.explicit else given) if given else by_policy
            return Configured(forest, inputs, policy, of_items, tuple(dict.fromkeys(asked)))

        usual = configured(Path(), settings.usual)  # first: what is wrong with its policy is no entry's fault
        found = cls({forest: configured(forest, inputs) for forest, inputs in settings.models.items()}, usual)
        everything = (*found.each.values(), found.usual)
        _require_pinned_domains(everything, settings)
        _require_pinned_ledger(everything, settings)
        if settings.active:
            _require_matched_waivers(everything)
        return found

    @cached_property
    def have_several_policies(self) -> bool:
        """Whether not all model files are held to the same policy."""
        return len({model.policy.source for model in self.each.values()}) > 1

    def configured(self, forest: Path) -> Configured:
        """Return a model file with what is configured for it, or for whatever is not among those of the run."""
        return self.each.get(forest) or replace(self.usual, forest=forest)


def _pinned(policy: Policy, settings: Settings) -> Policy:
    """Return a policy, which is the one whose hash is given."""
    pinned = settings.policy_sha256
    if pinned is not None and policy.sha256 != pinned:
        raise PolicyError(
            f"{one_line(policy.source)}: the policy's SHA-256 is {policy.sha256}, and --draft-policy-sha256 says "
            "another: give the policy that was signed off, or have this one signed off"
        )
    return policy


def _require_pinned_domains(models: Iterable[Configured], settings: Settings) -> None:
    """Refuse a domain file that is not the one whose hash is given, by the command line or by the policy."""
    hashed = cache(_sha256_of_domain)
    for path, named in dict.fromkeys((model.inputs.domain, model.policy.domain_sha256) for model in models):
        pins = {"--draft-domain-sha256 says": settings.domain_sha256, "the policy names": named}
        for whose, pinned in pins.items():
            if path is not None and pinned is not None and hashed(path) != pinned:
                raise PolicyError(
                    f"{one_line(path)}: the domain file's SHA-256 is {hashed(path)}, and {whose} another: give the "
                    "file that was signed off, or have this one signed off"
                )


def _require_pinned_ledger(models: Iterable[Configured], settings: Settings) -> None:
    """Refuse a ledger of released files whose head is not given, where a policy wants that."""
    wanted = [one_line(model.policy.name) for model in models if model.policy.pinned_ledger]
    if wanted and settings.ledger is not None and exists(settings.ledger) and settings.ledger_head is None:
        where = f"{one_line(settings.ledger)}: the policy {wanted[0]!r} wants the head of this ledger pinned"
        raise PolicyError(f"{where}: add --draft-ledger-head HEX, as --draft-record told it")


def _sha256_of_domain(path: Path) -> str:
    try:
        return sha256(path, TABLE_BYTES)
    except OSError as error:
        raise PolicyError(
            f"{one_line(path)}: the domain file cannot be read ({what_failed(error, TABLE_BYTES)})"
        ) from None


def _require_matched_waivers(models: Iterable[Configured]) -> None:
    """Refuse a waiver for a file or a rule that is not judged: it hides that somebody decided about another one."""
    by_policy: dict[str, list[Configured]] = {}
    for model in models:
        if model.policy.waivers:
            by_policy.setdefault(model.policy.source, []).append(model)
    for source, judged_by_it in by_policy.items():
        rules, waivers = judged_by_it[0].policy_of_items.rules, judged_by_it[0].policy.waivers
        unused = [waiver.rule for waiver in waivers if waiver.rule not in rules]
        if unused:
            raise PolicyError(
                f"{one_line(source)}: waiver of {unused[0]!r}: nothing is compared in this run: add "
                "--draft-compare, or remove it"
            )
        judged = set()
        for model in judged_by_it:
            with suppress(OSError):  # its examination will say what is wrong
                judged.add(sha256(model.forest, MODEL_BYTES))
        unmatched = [waiver for waiver in waivers if waiver.artifact_sha256 not in judged]
        if unmatched:
            raise PolicyError(
                f"{one_line(source)}: waiver of {unmatched[0].rule!r}: no model file with the SHA-256 "
                f"{unmatched[0].artifact_sha256[:12]}... is judged by this policy: remove it, or judge that file"
            )
