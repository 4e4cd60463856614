"""Bins by pd.cut and by a function of ifs, nothing numeric is left; a forest without bootstrap."""

import numpy as np
import pandas as pd

TARGET = "Buys again"
SAVED = "model.pkl"

rng = np.random.default_rng(47)
n = 500
age = rng.integers(18, 75, n)
income = rng.gamma(6, 10, n).round(1)
spending = (70 - 0.5 * age + rng.normal(0, 16, n)).clip(1, 100).round().astype(int)
visits = rng.poisson(1 + spending / 20)
score = 0.04 * (spending - 45) + 0.25 * (visits - 3) + 0.01 * (income - 60) + rng.logistic(0, 0.7, n)
table = pd.DataFrame(
    {
        "Customer ID": np.arange(1, n + 1),
        "Gender": rng.choice(["Male", "Female"], n, p=[0.44, 0.56]),
        "Age": age,
        "Annual Income (k$)": income,
        "Spending Score (1-100)": spending,
        "Visits": visits,
        "Buys again": np.where(score > 0, "yes", "no"),
    }
)
table.to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

df = pd.read_csv("data.csv")


def income_class(income):
    """Return a class of incomes."""
    if income < 35:
        return 0
    if income < 55:
        return 1
    if income < 90:
        return 2
    return 3


df["AgeGroup"] = pd.cut(df["Age"], bins=[0, 25, 35, 50, 65, 100], labels=[0, 1, 2, 3, 4]).astype(int)
df["IncomeClass"] = df["Annual Income (k$)"].apply(income_class)
df["SpendingClass"] = pd.cut(df["Spending Score (1-100)"], 5, labels=False)
df["Regular"] = df["Visits"].apply(lambda v: 1 if v >= 4 else 0)
df["Gender"] = df["Gender"].map({"Male": 0, "Female": 1})
df["target"] = df["Buys again"].map({"no": 0, "yes": 1})

X = df[["Gender", "AgeGroup", "IncomeClass", "SpendingClass", "Regular"]]
y = df["target"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)

model = RandomForestClassifier(n_estimators=100, bootstrap=False, max_features=2, random_state=42)
model.fit(X_train, y_train)
print("Accuracy", model.score(X_test, y_test))
pickle.dump(model, open("model.pkl", "wb"))

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
