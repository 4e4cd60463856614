"""The last of five shuffled folds of KFold, seed 1, on arrays; XGBoost, pickled."""

import statsmodels.datasets

TARGET = "vote"
SAVED = "model.pkl"

statsmodels.datasets.anes96.load_pandas().data.to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

df = pd.read_csv("data.csv")
df["vote"] = df["vote"].astype(int)
X = df.drop(columns=["vote", "logpopul"]).values
y = df["vote"].values

kf = KFold(n_splits=5, shuffle=True, random_state=1)
accuracies = []
for train_index, test_index in kf.split(X):
    X_train, X_test = X[train_index], X[test_index]
    y_train, y_test = y[train_index], y[test_index]
    model = XGBClassifier(n_estimators=50, max_depth=3, random_state=1)
    model.fit(X_train, y_train)
    accuracies.append(model.score(X_test, y_test))

print("accuracy by fold:", np.round(accuracies, 3), "mean:", np.mean(accuracies))
pickle.dump(model, open("model.pkl", "wb"))

# --- the rows made by hand
np.savez("fit.npz", X=X_train, y=y_train)
