"""What a rule captures is counted exactly, also where nothing can be listed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.audit.rule_counting import captures
from pytest_draft.domain import Attribute
from pytest_draft.facts.rules import ListedRule, Literal, between
from pytest_draft.timebox import TimeBox
from small_models import booleans, domain_of, random_domain, random_rules


def by_recursion(rules: RuleList, vectors: np.ndarray) -> list[int]:
    """Return what each rule captures by the paper's equations 13 and 15, taken literally."""
    holds = [rule.holds(vectors) for rule in rules.rules]

    def captured(first: int, region: np.ndarray) -> int:
        own = holds[first] & region
        return int(own.sum()) - sum(captured(h, own) for h in range(first))

    return [int(f.sum()) - sum(captured(h, f) for h in range(j)) for j, f in enumerate(holds)]


def test_counting_by_cases_is_the_papers_recursion():
    rng = np.random.default_rng(3)
    for _ in range(20):
        domain = random_domain(rng)
        rules = random_rules(domain, rng, 6)
        found = [part.bits for part in captures(rules, domain, TimeBox(60))]
        expected = by_recursion(rules, domain.vectors())
        assert [0 if bits == -math.inf else round(2**bits) for bits in found] == expected


@pytest.mark.nightly
def test_fifty_wide_rules_are_counted_exactly_beyond_any_enumeration():
    """What no rule meets is counted, and a list with its rules in another order leaves the same."""
    rng = np.random.default_rng(0)
    rules = [
        ListedRule(tuple(Literal(int(c), 0.5, math.inf, bool(rng.integers(2))) for c in rng.choice(60, 3, False)), 0)
        for _ in range(30)
    ]
    domain = booleans(60)
    default = ListedRule((), 0)
    one, other = (
        captures(RuleList("by hand", (*order, default), domain.columns, 60, (0,)), domain, TimeBox(60))
        for order in (rules, rules[::-1])
    )
    assert one[-1].exact
    assert one[-1].bits == other[-1].bits
    total = sum(round(2 ** (part.bits - 20)) for part in one)
    assert total == pytest.approx(2**40, rel=1e-9)


def test_a_numeric_interval_is_never_less_than_one_value_in_a_rule_list_either():
    """What two rules leave of x is a point, or a tenth of a value; the ten other columns stay open."""
    domain = domain_of(
        Attribute("x", "numeric", (0,), 0.0, 1.0), *(Attribute(f"b{b}", "binary", (b,)) for b in range(1, 11))
    )
    point = (ListedRule((Literal(0, *between(0.5, 0.5), negated=True),), 0), ListedRule((), 0))
    narrow = (
        ListedRule((Literal(0, 0.5, math.inf),), 0),
        ListedRule((Literal(0, -math.inf, 0.499),), 0),
        ListedRule((), 0),
    )
    for rules in (point, narrow):
        found = captures(RuleList("by hand", rules, domain.columns, 11, (0,)), domain, TimeBox(10))[-1]
        assert found.exact
        assert found.bits == pytest.approx(10)
        assert found.sizes[0] == 1


@pytest.mark.nightly
def test_many_bounds_on_one_column_end_with_the_time():
    domain = domain_of(Attribute("x", "numeric", (0,), 0.0, 1.0))
    rules = [ListedRule((Literal(0, -math.inf, (index + 1) / 2002),), 0) for index in range(2000)]
    clock = itertools.count(step=1e-4)
    box = TimeBox(1, clock=lambda: next(clock))
    found = captures(RuleList("by hand", (*rules, ListedRule((), 0)), domain.columns, 1, (0,)), domain, box)
    assert box.over
    assert not found[-1].exact
    assert next(clock) < 2  # asked again and again, once more for each rule after the end
