"""Fuzzing of all that reads files: in go honest files, out come damaged ones that a reader gave no clear answer to."""
