"""Two splits in turn, for train, validation and test; extremely randomized trees."""

from sklearn.datasets import load_wine

TARGET = "cultivar"
SAVED = "model.joblib"

load_wine(as_frame=True).frame.rename(columns={"target": "cultivar"}).to_csv("data.csv", index=False)

# --- train.py
import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

SEED = 42

wine = pd.read_csv("data.csv")
features = [c for c in wine.columns if c != "cultivar"]

# 60 / 20 / 20
trainval, test = train_test_split(wine, test_size=0.2, random_state=SEED)
train, val = train_test_split(trainval, test_size=0.25, random_state=SEED)

best, best_score = None, -1.0
for leaf in (3, 2, 1):
    candidate = ExtraTreesClassifier(n_estimators=100, min_samples_leaf=leaf, random_state=SEED)
    candidate.fit(train[features], train["cultivar"])
    score = candidate.score(val[features], val["cultivar"])
    print(leaf, round(score, 3))
    if score >= best_score:
        best, best_score = candidate, score

print("test:", best.score(test[features], test["cultivar"]))
joblib.dump(best, "model.joblib")

# --- the rows made by hand
np.savez("fit.npz", X=train[features].to_numpy(float), y=np.array(list(train["cultivar"])), columns=features)
