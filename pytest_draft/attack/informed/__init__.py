"""An adversary who knows all rows but one: what the file holds of that row, and a guess."""
