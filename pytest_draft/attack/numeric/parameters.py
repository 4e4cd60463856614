"""What the attack on numeric data is set to: each parameter with what it does and what it was measured on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AnnealingParameters:
    """How one chain is cooled (`chain`). Shares are of a chain's time or effort.

    The prototype that the attack began as was tried on iris, wine, breast cancer and credit, 100 to 400 rows and 100
    trees, and cooled from 3 to .4 by counts alone, then from 1.5 to .3 with all terms. Where nothing is said of a value
    here, no measurement of it is on record.
    """

    share: float = 0.96
    """Of the time that is left after the pilot; the rest is for the agreement of the samples."""
    hottest: float = 3.0
    coldest: float = 0.3
    """`hottest` and `coldest`: first and last temperature, in draws that a leaf's count is off; between them it falls
    by the same factor in equal times.
    """
    by_counts: float = 0.1
    """Up to this share a split that the rows contradict costs nothing: it would keep rows from where they count."""
    half: float = 0.5
    """From this share on the best dataset so far is kept."""
    cold: float = 0.85
    """From this share on the temperature stays at the coldest, and samples are kept. Once nothing is missed, a chain is
    cold.
    """
    of_midpoints: float = 1.0
    of_extremes: float = 2.0
    """`of_midpoints` and `of_extremes`: what a contradicted split costs, in draws, where thresholds are midpoints, and
    where extremes were decoded.
    """
    exchanges: int = 3
    """How many exchanges with another row are tried for each row in a sweep."""
    samples: int = 20
    """How many samples end a chain that misses nothing; of twice as many every second is kept."""
    enough_met: int = 4
    """How many chains have to miss nothing for the result not to hang on a single one; with fewer it is cut short."""
    slice: float = 0.2
    """Seconds between two looks at the clock."""
    between_known: float = 0.02
    """How likely a state between decimals or decoded values is, where one of these is 1."""
    seconds_a_walk: float = 5e-8
    seconds_an_exchange: float = 1.8e-7
    """`seconds_a_walk` and `seconds_an_exchange`: seconds that a node costs in a sweep, for the estimate of a sweep's
    units of work: of the walk from where an attribute is first tested, and of an exchange.
    """


@dataclass(frozen=True)
class PilotParameters:
    """How short runs choose the prior's strength and the number of chains (`rebuild`).

    Several chains that are cooled fast have a better median than few that are cooled slowly: on breast cancer, 100
    rows, 8 chains of 60 sweeps came to an error of .118, single ones of 60 to .125 and of 1,500 to .124. Where extremes
    were decoded, rows are nearly determined, and it is the other way round: on iris, 400 sweeps came to .009, 53 to
    .035.
    """

    strengths: tuple[float, ...] = (0.0, 0.5, 1.0)
    """Powers of the prior that are tried; the middle one is taken where nothing can be tried."""
    share: float = 0.12
    """Of the whole time, for all short runs together."""
    every_hidden: int = 5
    """Every so many trees one is hidden from the short runs, to see how well they foresee its counts."""
    least_trees: int = 10
    """With fewer trees none is hidden."""
    least_sweeps: int = 20
    """How many sweeps of each strength the share has to suffice for; otherwise nothing is tried."""
    fewest_chains: int = 2
    most_chains: int = 24
    """`fewest_chains` and `most_chains`: bounds of the number of chains; the fewest where extremes were decoded."""
    sweeps_a_chain: int = 40
    """How many sweeps a chain should have at least where there are more than the fewest."""


@dataclass(frozen=True)
class BeliefParameters:
    """How rows are believed in boxes before chains begin there (`beliefs` and `beam`).

    Tried on Default Credit, wine, breast cancer and iris, 100 to 300 rows, scikit-learn's default forest. With 200 to
    400 boxes the same rounds take two to four times as long and come a little closer.
    """

    share: float = 0.7
    """Of the time that is left, for all rounds together."""
    width: int = 100
    """Boxes that are kept of a row."""
    components: int = 5
    """Parts of the rows in each of which columns are independent (`Beliefs`): with 1, an error that is .026 is .030."""
    step: float = 0.4
    """Share of a row's new belief that is taken; the rest stays as it was."""
    background: tuple[float, float] = (0.1, 0.01)
    """Share of each row that counts as not placed yet, in the first round and in the last."""
    weakest: float = 0.3
    full: float = 0.8
    """`weakest` and `full`: power of the evidence in the first round, and the share of the rounds after which it is 1.
    With it 24 rounds come as far as 40 with full evidence from the first on.
    """
    clip: float = 8.0
    """Most that one leaf can say for or against a row, as a logarithm."""
    gap: float = 10.0
    """A box goes when its weight is so far below the best, as a logarithm."""
    jitter: float = 0.5
    """How far chance moves a tree in the order in which a box is joined with them, in the entropy of its leaves."""
    batch: int = 100
    most_batches: int = 5
    """`batch` and `most_batches`: rows that are placed anew at a time, from the same tables, and how often these are
    filled in a round at most.
    """
    most_rounds: int = 60
    """Rounds after which another search begins from nothing."""
    fewest_rounds: int = 12
    """Where there is no time for as many, rows are annealed from random places; a further search with fewer is left
    out again.
    """
    drawn: int = 24
    """States that are drawn from the boxes of a row in each round."""
    hottest: float = 0.8
    """Temperature at which chains begin from such rows."""
    most_entries: int = 100_000_000
    """Most pairs of row and leaf; each takes 4 bytes."""
    seconds_a_box: float = 3.3e-7
    seconds_a_leaf: float = 2.2e-7
    seconds_a_state: float = 1.6e-8
    """Seconds that a box takes in a tree, a leaf for what it says of a row, and a pair of row and leaf whenever tables
    are filled, for the estimate of a round's units of work.
    """


@dataclass(frozen=True)
class AgreementParameters:
    """How samples become one guess (`rebuild`)."""

    most_rows: int = 1_000
    """Most rows that are matched: a matching takes the third power of their number."""
    n_samples: tuple[int, int] = (24, 72)
    """Fewest and most samples of all chains together that are taken."""
    cubes: float = 2e9
    """Rows to the third power, times samples, in one round of matchings: what bounds its seconds."""
    rounds: int = 3
    """How often every sample is matched to the guess and the median taken again."""
    of_beliefs: float = 0.3
    """Share of the samples that are drawn from what is believed of the rows, where that is known."""


@dataclass(frozen=True)
class ReplayParameters:
    """How a tree's draws are followed (`replay` and `draws.follow`)."""

    doubt: float = 1e-6
    """Most probability that what is told of a node is wrong, were the rates of constant columns as estimated."""
    width: int = 512
    """Most states of the splitter that are kept at a node."""
    floor: float = -30.0
    """Log-probability, relative to the likeliest at a node, below which a hypothesis is dropped."""
    most_edges: int = 100_000
    """Most draws of nodes in all hypotheses of one tree: it bounds memory and time. Nodes that take more are left out,
    from the first of them on.
    """
    rounds: int = 2
    """How often the rates of constant columns are learned from a sample of trees before all are followed."""
    sampled: int = 20
    """How many trees are in that sample."""


ANNEALING = AnnealingParameters()
PILOT = PilotParameters()
BELIEFS = BeliefParameters()
AGREEMENT = AgreementParameters()
REPLAY = ReplayParameters()
