"""The attack on boosted trees: their sums are equations in the number of rows of each kind."""
