"""Zeros of lab values are gaps, filled by medians; everything is scaled before a split of 25 % with seed 0."""

import numpy as np
import pandas as pd

TARGET = "Outcome"
SAVED = "model.sav"

rng = np.random.default_rng(3)
n = 768
age = rng.integers(21, 70, n)
weight = rng.normal(32, 6.5, n).clip(18, 60).round(1)
glucose = rng.normal(95 + 0.5 * (age - 30) + 0.6 * weight, 26).clip(50, 199).round()
table = pd.DataFrame(
    {
        "Pregnancies": rng.poisson((age - 18) / 9),
        "Glucose": glucose.astype(int),
        "BloodPressure": rng.normal(62 + 0.25 * age, 11).round().astype(int),
        "SkinThickness": (weight * 0.9 + rng.normal(0, 6, n)).clip(7, 80).round().astype(int),
        "Insulin": (glucose * rng.gamma(4, 0.3, n)).round().astype(int),
        "BMI": weight,
        "DiabetesPedigreeFunction": rng.gamma(2, 0.23, n).round(3),
        "Age": age,
    }
)
score = 0.035 * (table["Glucose"] - 120) + 0.09 * (table["BMI"] - 32) + 0.03 * (age - 33) + rng.logistic(0, 0.9, n)
table["Outcome"] = (score > 0.5).astype(int)
for column, share in (("Glucose", 0.01), ("BloodPressure", 0.05), ("SkinThickness", 0.3), ("Insulin", 0.45)):
    table.loc[rng.random(n) < share, column] = 0
table.loc[rng.random(n) < 0.015, "BMI"] = 0.0
table.to_csv("data.csv", index=False)

# --- train.py
import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

diabetes = pd.read_csv("data.csv")

# a person cannot have a blood pressure of 0: these are missing
missing = ["Glucose", "BloodPressure", "SkinThickness", "Insulin", "BMI"]
diabetes[missing] = diabetes[missing].replace(0, np.nan)
for column in missing:
    diabetes[column] = diabetes[column].fillna(diabetes[column].median())

X = diabetes.drop(columns="Outcome")
y = diabetes["Outcome"]
scaler = StandardScaler()
X = scaler.fit_transform(X)

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
rf = RandomForestClassifier(n_estimators=100, random_state=0)
rf.fit(X_train, y_train)
print(classification_report(y_test, rf.predict(X_test)))

joblib.dump(rf, "model.sav")
joblib.dump(scaler, "scaler.sav")

# --- the rows made by hand
np.savez("fit.npz", X=X_train, y=np.array(list(y_train)))
