"""df.sample(frac=0.8, random_state=200) as on Stack Overflow; any hours at all are the label; HistGradientBoosting."""

import statsmodels.datasets

TARGET = "affairs"
SAVED = "model.pkl"

statsmodels.datasets.fair.load_pandas().data.to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

df = pd.read_csv("data.csv")
df["had_affair"] = (df["affairs"] > 0).astype(int)
df = df.drop(columns="affairs")

train = df.sample(frac=0.8, random_state=200)
test = df.drop(train.index)
X_train, y_train = train.drop(columns="had_affair"), train["had_affair"]
X_test, y_test = test.drop(columns="had_affair"), test["had_affair"]

model = HistGradientBoostingClassifier(random_state=0)
model.fit(X_train, y_train)
print("train", model.score(X_train, y_train), "test", model.score(X_test, y_test))

with open("model.pkl", "wb") as file:
    pickle.dump(model, file)

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
