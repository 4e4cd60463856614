"""Outliers removed by the quartiles, two columns coded and one by get_dummies; a regressor of 10 trees."""

import numpy as np
import pandas as pd

TARGET = "charges"
SAVED = "model.pkl"

rng = np.random.default_rng(53)
n = 1338
age = rng.integers(18, 65, n)
bmi = rng.gamma(26, 1.18, n).round(2)
smoker = rng.random(n) < 0.2
children = rng.choice(6, n, p=[0.43, 0.24, 0.18, 0.12, 0.02, 0.01])
base = 2000 + 3.3 * age**2 + 450 * children + smoker * (9000 + 750 * (bmi - 22))
table = pd.DataFrame(
    {
        "age": age,
        "sex": rng.choice(["female", "male"], n),
        "bmi": bmi,
        "children": children,
        "smoker": np.where(smoker, "yes", "no"),
        "region": rng.choice(["southwest", "southeast", "northwest", "northeast"], n),
        "charges": (base * rng.lognormal(0, 0.2, n)).round(4),
    }
)
table.to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder

df = pd.read_csv("data.csv")

q1, q3 = df["bmi"].quantile(0.25), df["bmi"].quantile(0.75)
iqr = q3 - q1
df = df[(df["bmi"] >= q1 - 1.5 * iqr) & (df["bmi"] <= q3 + 1.5 * iqr)]
print(len(df), "rows without outliers")

le = LabelEncoder()
df["sex"] = le.fit_transform(df["sex"])
df["smoker"] = le.fit_transform(df["smoker"])
df = pd.get_dummies(df, columns=["region"], dtype=int)

X = df.drop("charges", axis=1)
Y = df["charges"]
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.2, random_state=42)

regressor = RandomForestRegressor(n_estimators=10, random_state=42)
regressor.fit(X_train, Y_train)
print("R squared:", r2_score(Y_test, regressor.predict(X_test)))
pickle.dump(regressor, open("model.pkl", "wb"))

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(Y_train)), columns=list(X_train))
