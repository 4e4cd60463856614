"""How close anybody could get: in go the truth and what a file says, out come other datasets that fit as well."""
