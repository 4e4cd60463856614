"""Reports: in go examinations and checks, out come files. One file per format; aggregates only."""
