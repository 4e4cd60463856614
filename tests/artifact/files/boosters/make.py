"""Writes boosters of the installed LightGBM and CatBoost into this folder, and the rows that they were trained on."""

from __future__ import annotations

from pathlib import Path

import catboost
import lightgbm
import numpy as np

HERE = Path(__file__).parent
N_ROWS = 120

random = np.random.RandomState(9)
columns = np.column_stack(
    (random.randint(0, 2, N_ROWS), random.randint(0, 4, N_ROWS), random.randn(N_ROWS).round(1))
).astype(np.float32)
columns[random.rand(N_ROWS) < 0.2, 2] = np.nan
score = columns[:, 0] + np.nan_to_num(columns[:, 2]) + random.randn(N_ROWS)
labels = {"two": (score > 0.6).astype(int), "three": np.digitize(score, [0, 1.2])}
if not (HERE / "rows.npz").exists():
    np.savez_compressed(HERE / "rows.npz", columns=columns.T, **labels)
for name, label in labels.items():
    objective = {"objective": "binary"} if name == "two" else {"objective": "multiclass", "num_class": 3}
    settings = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 5, "num_leaves": 6, **objective}
    booster = lightgbm.train(settings, lightgbm.Dataset(columns.astype(float), label), 4)
    booster.save_model(HERE / f"lightgbm-{lightgbm.__version__}-{name}.txt")
    settings = {"loss_function": "Logloss" if name == "two" else "MultiClass", "iterations": 4, "depth": 3}
    settings |= {"verbose": 0, "allow_writing_files": False, "thread_count": 1, "leaf_estimation_iterations": 1}
    model = catboost.CatBoost(settings).fit(columns, label)
    model.save_model(str(HERE / f"catboost-{catboost.__version__}-{name}.cbm"))
    if name == "two":
        model.save_model(str(HERE / f"catboost-{catboost.__version__}-{name}.json"), format="json")
