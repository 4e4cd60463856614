"""How close anybody could get: in go a file and the true rows, out comes what other datasets explain it as well."""
