"""The audit of a model file: what it reveals by itself, without an attack.

`contents`, `structure` and `entropy` are the entrances. `contents` says which arrays in the file belong to training
rows (by `copies`, `scaled` and `rare_categories`, on `known_data`, `value_hashes` and `chance`), `structure` how few
people stand behind a leaf or a rule. `entropy` says how much of the uncertainty about a row is gone: by the parts of
one model, whose vectors `leaf_counting`, `rule_counting` and `case_counting` count, by `remaining_entropy` and by all
trees together.
"""
