"""What a file says of its rows, one file for each kind of evidence."""
