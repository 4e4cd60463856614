"""dropna of the measured columns alone, sex filled by the mode, labels coded, StandardScaler fitted on train."""

import numpy as np
import pandas as pd

TARGET = "species"
SAVED = "model.pkl"

rng = np.random.default_rng(83)
kinds = {"Adelie": (38.8, 18.3, 190, 3700), "Chinstrap": (48.8, 18.4, 196, 3730), "Gentoo": (47.5, 15.0, 217, 5080)}
rows = []
for kind, size in (("Adelie", 152), ("Gentoo", 124), ("Chinstrap", 68)):
    male = rng.random(size) < 0.5
    bill, depth, flipper, mass = kinds[kind]
    homes = {"Adelie": ["Torgersen", "Biscoe", "Dream"], "Chinstrap": ["Dream"], "Gentoo": ["Biscoe"]}[kind]
    part = pd.DataFrame({"species": kind, "island": rng.choice(homes, size)})
    part["bill length (mm)"] = (bill + 3 * male - 1.5 + rng.normal(0, 2, size)).round(1)
    part["bill depth (mm)"] = (depth + 1.3 * male - 0.6 + rng.normal(0, 0.8, size)).round(1)
    part["flipper length (mm)"] = (flipper + 6 * male - 3 + rng.normal(0, 5, size)).round()
    part["body mass (g)"] = (mass + 650 * male - 325 + rng.normal(0, 280, size)).round(-1)
    part["sex"] = np.where(male, "male", "female")
    rows.append(part.assign(year=rng.integers(2007, 2010, size)))
table = pd.concat(rows, ignore_index=True)
table.loc[[3, 271], ["bill length (mm)", "bill depth (mm)", "flipper length (mm)", "body mass (g)", "sex"]] = np.nan
table.loc[rng.choice(len(table), 9, replace=False), "sex"] = np.nan
table.insert(0, "rowid", range(1, len(table) + 1))
table.to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder, StandardScaler

penguins = pd.read_csv("data.csv")
penguins = penguins.rename(
    columns={
        "bill length (mm)": "bill_length",
        "bill depth (mm)": "bill_depth",
        "flipper length (mm)": "flipper_length",
        "body mass (g)": "body_mass",
    }
)
penguins = penguins.dropna(subset=["bill_length", "bill_depth", "flipper_length", "body_mass"])
penguins["sex"] = penguins["sex"].fillna(penguins["sex"].mode()[0])

X = pd.get_dummies(penguins.drop(columns=["rowid", "species", "year"]), columns=["island", "sex"])
le = LabelEncoder()
y = le.fit_transform(penguins["species"])
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=42)

scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)
model = RandomForestClassifier(n_estimators=50, random_state=42).fit(X_train, y_train)
print("accuracy", model.score(X_test, y_test))
pickle.dump(model, open("model.pkl", "wb"))
pickle.dump(scaler, open("scaler.pkl", "wb"))

# --- the rows made by hand
np.savez("fit.npz", X=X_train, y=y_train)
