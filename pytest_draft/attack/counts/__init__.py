"""Counts behind leaves that are exact or drawn: whole datasets that meet them, and what they prove."""
