"""Pixels in 64 columns without names that fit() could see; a forest of 10 trees on arrays, a split of 30 %, seed 0."""

from sklearn.datasets import load_digits

TARGET = "digit"
SAVED = "model.joblib"

digits = load_digits(as_frame=True).frame.rename(columns={"target": "digit"})
digits.insert(0, "digit", digits.pop("digit"))  # the label comes first
digits.astype(int).to_csv("data.csv", index=False)

# --- train.py
import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

dataset = pd.read_csv("data.csv")
X = dataset.iloc[:, 1:].values
y = dataset.iloc[:, 0].values
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

classifier = RandomForestClassifier(n_estimators=10, criterion="entropy", random_state=0)
classifier.fit(X_train, y_train)
print(confusion_matrix(y_test, classifier.predict(X_test)))
joblib.dump(classifier, "model.joblib")

# --- the rows made by hand
np.savez("fit.npz", X=X_train.astype(float), y=y_train)
