"""Files without counts: datasets that explain the class fractions or labels at their leaves."""
