"""The audit of a model file without an attack: in goes what was read, out comes what it tells by itself.

`file_audit` is the entrance. `contents` says which arrays in the file belong to training rows, `structure` how few
people stand behind a leaf or a rule, `entropy` how much of the uncertainty about a row is gone.
"""
