"""Files without counts: in go leaves that tell class fractions or labels, out come datasets that explain them."""
