"""The attack: from a forest, a domain and groups, a reconstruction. It never sees the truth."""
