"""How close anybody could get: from a file and the true rows, which other datasets explain the file as well."""
