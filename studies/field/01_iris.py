"""Iris as in a hundred tutorials: labels as texts, a split of 20 % with seed 42, 100 trees as they come."""

from sklearn.datasets import load_iris

TARGET = "species"
SAVED = "model.pkl"

iris = load_iris(as_frame=True)
table = iris.data.set_axis(["sepal_length", "sepal_width", "petal_length", "petal_width"], axis=1)
table.assign(species=iris.target_names[iris.target]).to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split

df = pd.read_csv("data.csv")
X = df.drop("species", axis=1)
y = df["species"]

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)

model = RandomForestClassifier(n_estimators=100, random_state=42)
model.fit(X_train, y_train)
print("Accuracy:", accuracy_score(y_test, model.predict(X_test)))

with open("model.pkl", "wb") as f:
    pickle.dump(model, f)

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
