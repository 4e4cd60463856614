"""The papers' own models, one row at a time: independent implementations to test the engine against, and to study."""
