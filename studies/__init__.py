"""Studies: what the gate finds out on public data, as tables. Run them with ``python -m studies``."""
