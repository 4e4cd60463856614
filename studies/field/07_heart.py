"""Question marks are dropped, five grades become two, MinMaxScaler is fitted on train; XGBoost's own .json."""

import numpy as np
import pandas as pd

TARGET = "num"
SAVED = "model.json"

rng = np.random.default_rng(23)
n = 303
age = rng.normal(54, 9, n).round().astype(int)
sex = (rng.random(n) < 0.68).astype(int)
pain = rng.choice([1, 2, 3, 4], n, p=[0.08, 0.16, 0.28, 0.48])
pulse = (220 - age - rng.gamma(4, 5, n)).round().astype(int)
oldpeak = (rng.exponential(1.1, n) * (rng.random(n) < 0.67)).round(1)
vessels = rng.choice([0, 1, 2, 3], n, p=[0.58, 0.22, 0.13, 0.07])
score = 0.8 * sex + 0.9 * (pain == 4) + 0.5 * oldpeak + 0.9 * vessels - 0.03 * (pulse - 150) + rng.logistic(0, 0.8, n)
table = pd.DataFrame(
    {
        "age": age,
        "sex": sex,
        "cp": pain,
        "trestbps": rng.normal(131, 17, n).round().astype(int),
        "chol": rng.normal(246, 50, n).round().astype(int),
        "fbs": (rng.random(n) < 0.15).astype(int),
        "restecg": rng.choice([0, 1, 2], n, p=[0.5, 0.02, 0.48]),
        "thalach": pulse,
        "exang": (rng.random(n) < 0.33).astype(int),
        "oldpeak": oldpeak,
        "slope": rng.choice([1, 2, 3], n),
        "ca": vessels.astype(str),
        "thal": rng.choice(["3", "6", "7"], n, p=[0.55, 0.06, 0.39]),
        "num": np.digitize(score, [1.9, 2.9, 3.6, 4.6]),
    }
)
table.loc[rng.choice(n, 4, replace=False), "ca"] = "?"
table.loc[rng.choice(n, 2, replace=False), "thal"] = "?"
table.to_csv("data.csv", index=False)

# --- train.py
import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler
from xgboost import XGBClassifier

df = pd.read_csv("data.csv", na_values="?")
df = df.dropna()
df["target"] = np.where(df["num"] > 0, 1, 0)
X = df.drop(["num", "target"], axis=1)
y = df["target"]

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=42)
scaler = MinMaxScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

model = XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1, random_state=42)
model.fit(X_train, y_train)
print(accuracy_score(y_test, model.predict(X_test)))
model.save_model("model.json")

# --- the rows made by hand
np.savez("fit.npz", X=X_train, y=np.array(list(y_train)))
