"""Title and deck out of texts, size of the family, get_dummies; names, tickets and ids are dropped."""

import numpy as np
import pandas as pd

TARGET = "Survived"
SAVED = "model.pkl"

rng = np.random.default_rng(1912)
n = 891
woman = rng.random(n) < 0.36
age = rng.gamma(5, 6, n).clip(0.5, 80).round(1)
pclass = rng.choice([1, 2, 3], n, p=[0.24, 0.21, 0.55])
surnames = np.array("Baker Cole Dahl Evans Fox Goldberg Hansen Ibsen Jones Kelly Lund Moore Novak Olsen Price".split())
men, women = np.array("John William Karl Patrick Henry".split()), np.array("Anna Mary Elin Bridget Rosa".split())
title = np.where(woman, np.where(age < 24, "Miss", "Mrs"), np.where(age < 13, "Master", "Mr"))
rare = rng.random(n) < 0.03
title[rare & ~woman] = rng.choice(["Dr", "Rev", "Col"], (rare & ~woman).sum())
first = np.where(woman, rng.choice(women, n), rng.choice(men, n))
deck = np.where(pclass == 1, rng.choice(list("ABCD"), n), rng.choice(list("EFG"), n))
cabin = [
    f"{d}{k}" if there else None
    for d, k, there in zip(deck, rng.integers(1, 120, n), rng.random(n) < 0.8 / pclass**2, strict=True)
]
table = pd.DataFrame(
    {
        "PassengerId": np.arange(1, n + 1),
        "Pclass": pclass,
        "Name": [f"{s}, {t}. {f}" for s, t, f in zip(rng.choice(surnames, n), title, first, strict=True)],
        "Sex": np.where(woman, "female", "male"),
        "Age": np.where(rng.random(n) < 0.2, np.nan, age),
        "SibSp": rng.poisson(0.5, n),
        "Parch": rng.poisson(0.35, n),
        "Ticket": [str(k) for k in rng.integers(2000, 390000, n)],
        "Fare": (rng.lognormal(2.3, 0.6, n) * (4 - pclass)).round(4),
        "Cabin": cabin,
        "Embarked": rng.choice(["S", "C", "Q", None], n, p=[0.72, 0.19, 0.087, 0.003]),
    }
)
score = 2.6 * woman - 0.9 * (pclass - 2) - 0.02 * (age - 30) + rng.logistic(0, 0.9, n)
table["Survived"] = (score > 0.9).astype(int)
table.to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

df = pd.read_csv("data.csv")

df["Title"] = df["Name"].str.extract(r" ([A-Za-z]+)\.", expand=False)
df["Title"] = df["Title"].replace(["Dr", "Rev", "Col", "Major", "Lady", "Countess"], "Rare")
df["Deck"] = df["Cabin"].fillna("U").str[0]
df["FamilySize"] = df["SibSp"] + df["Parch"] + 1
df["IsAlone"] = (df["FamilySize"] == 1).astype(int)
df["Age"] = df["Age"].fillna(df["Age"].median())
df["Embarked"] = df["Embarked"].fillna(df["Embarked"].mode()[0])
df["Sex"] = df["Sex"].map({"male": 0, "female": 1})

df = df.drop(columns=["PassengerId", "Name", "Ticket", "Cabin"])
df = pd.get_dummies(df, columns=["Embarked", "Title", "Deck"])

X = df.drop("Survived", axis=1)
y = df["Survived"]
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=42)

rf = RandomForestClassifier(n_estimators=100, random_state=42)
rf.fit(X_train, y_train)
print("validation accuracy", rf.score(X_val, y_val))
pickle.dump(rf, open("model.pkl", "wb"))

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
