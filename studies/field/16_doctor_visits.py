"""20,000 rows, thousands of them twice: drop_duplicates, whether somebody saw a doctor at all, one tree to the end."""

import statsmodels.datasets

TARGET = "mdvis"
SAVED = "model.pkl"

table = statsmodels.datasets.randhie.load_pandas().data
table.sample(20_000, random_state=6).round(4).to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

visits = pd.read_csv("data.csv")
print(visits.shape)
visits.drop_duplicates(inplace=True)
print(visits.shape)

X = visits.drop("mdvis", axis=1)
y = visits["mdvis"] > 0
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

tree = DecisionTreeClassifier(random_state=0)
tree.fit(X_train, y_train)
print("train", tree.score(X_train, y_train))
print("test", tree.score(X_test, y_test))
pickle.dump(tree, open("model.pkl", "wb"))

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
