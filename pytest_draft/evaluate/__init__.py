"""The evaluation of an attack: compares a reconstruction with the truth. `Findings` and `Identity` are its results.

`findings` is the entrance. `comparison` and `close_rows` say which rows belong together, `compared` what one comparison
measures, `baseline_draws` and `baselines` what others get without the forest. `parts`, `rescaled` and `slices` look at
less, or otherwise; `identity` and `threshold_check` ask whether these are the rows that the forest was trained on.
"""

import pytest_draft.attack  # noqa: F401 - prepares what compiled code needs
