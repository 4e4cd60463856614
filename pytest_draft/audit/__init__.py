"""The audit of a file without an attack: what stands in it, how few people are behind its leaves, how much it tells."""
