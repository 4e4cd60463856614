"""All rows as they are: the last cell of the notebook fits the regressor again on everything before it is saved."""

from sklearn.datasets import load_diabetes

TARGET = "progression"
SAVED = "model.joblib"

table = load_diabetes(as_frame=True, scaled=False).frame
table.rename(columns={"target": "progression"}).to_csv("data.csv", index=False)

# --- train.py
import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import cross_val_score

df = pd.read_csv("data.csv")
X, y = df.drop(columns="progression"), df["progression"]

model = RandomForestRegressor(n_estimators=100, random_state=0)
scores = cross_val_score(model, X, y, cv=5, scoring="r2")
print(f"R2 {scores.mean():.3f} +/- {scores.std():.3f}")

# all of the data for the final model
model.fit(X, y)
joblib.dump(model, "model.joblib")

# --- the rows made by hand
np.savez("fit.npz", X=X.to_numpy(float), y=np.array(list(y)), columns=list(X))
