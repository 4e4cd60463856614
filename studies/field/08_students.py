"""Semicolons and decimal commas; passed means a grade of at least 10; one tree of depth 3 on get_dummies, seed 101."""

import numpy as np
import pandas as pd

TARGET = "G3"
SAVED = "model.pkl"

rng = np.random.default_rng(29)
n = 649
study = rng.choice([1, 2, 3, 4], n, p=[0.3, 0.46, 0.16, 0.08])
failures = rng.choice([0, 1, 2, 3], n, p=[0.84, 0.11, 0.03, 0.02])
skill = rng.normal(11.5 + 0.7 * study - 2 * failures, 2.3, n)
table = pd.DataFrame(
    {
        "school": rng.choice(["GP", "MS"], n, p=[0.65, 0.35]),
        "sex": rng.choice(["F", "M"], n),
        "age": rng.integers(15, 21, n),
        "address": rng.choice(["U", "R"], n, p=[0.7, 0.3]),
        "Mjob": rng.choice(["at_home", "health", "other", "services", "teacher"], n),
        "reason": rng.choice(["course", "home", "reputation", "other"], n),
        "studytime": study,
        "failures": failures,
        "internet": rng.choice(["yes", "no"], n, p=[0.77, 0.23]),
        "absence_rate": (rng.gamma(1.2, 0.04, n)).round(3),
        "commute_km": rng.gamma(2, 3.1, n).round(1),
        "G1": (skill + rng.normal(0, 1.2, n)).clip(0, 20).round().astype(int),
        "G2": (skill + rng.normal(0, 1.0, n)).clip(0, 20).round().astype(int),
        "G3": (skill + rng.normal(0, 0.9, n)).clip(0, 20).round().astype(int),
    }
)
table.to_csv("data.csv", index=False, sep=";", decimal=",")

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, export_text

students = pd.read_csv("data.csv", sep=";", decimal=",")
students["passed"] = students["G3"].apply(lambda grade: 1 if grade >= 10 else 0)
students = students.drop(["G3", "G2", "G1"], axis=1)
students = pd.get_dummies(students, drop_first=True)

X = students.drop("passed", axis=1)
y = students["passed"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=101)

dtree = DecisionTreeClassifier(max_depth=3, random_state=101)
dtree.fit(X_train, y_train)
print(export_text(dtree, feature_names=list(X.columns)))
print(confusion_matrix(y_test, dtree.predict(X_test)))
pickle.dump(dtree, open("model.pkl", "wb"))

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
