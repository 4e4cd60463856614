"""Somebody who knows all rows but one: in go a file and the others, out come what it holds of that one, and a guess."""
