"""RobustScaler of the training rows on the amounts alone, get_dummies, seed 7; CatBoost's .cbm."""

import numpy as np
import pandas as pd

TARGET = "default payment next month"
SAVED = "model.cbm"

rng = np.random.default_rng(61)
n = 4000
limit = rng.choice(np.arange(1, 60), n, p=np.arange(60, 1, -1) / np.arange(60, 1, -1).sum()) * 10_000
late = rng.choice([-1, 0, 1, 2, 3], n, p=[0.3, 0.5, 0.1, 0.08, 0.02])
bill = (limit * rng.beta(1, 2.5, n)).round().astype(int)
paid = (bill * rng.beta(0.6, 3, n)).round().astype(int)
score = 1.1 * late - limit / 300_000 + rng.logistic(0, 0.9, n)
table = pd.DataFrame(
    {
        "ID": np.arange(1, n + 1),
        "LIMIT_BAL": limit,
        "SEX": rng.choice(["male", "female"], n, p=[0.4, 0.6]),
        "EDUCATION": rng.choice(
            ["graduate school", "university", "high school", "others"], n, p=[0.35, 0.47, 0.16, 0.02]
        ),
        "MARRIAGE": rng.choice(["married", "single", "others"], n, p=[0.45, 0.53, 0.02]),
        "AGE": rng.gamma(14, 2.5, n).clip(21, 79).round().astype(int),
        "PAY_0": late,
        "PAY_2": np.where(rng.random(n) < 0.7, late, rng.choice([-1, 0, 2], n)),
        "BILL_AMT1": bill,
        "PAY_AMT1": paid,
        "default payment next month": (score > 1.5).astype(int),
    }
)
table.to_csv("data.csv", index=False)

# --- train.py
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import RobustScaler

df = pd.read_csv("data.csv", index_col="ID").rename(columns={"default payment next month": "default"})
df = pd.get_dummies(df, columns=["SEX", "EDUCATION", "MARRIAGE"], dtype=int)
X = df.drop(columns="default")
y = df["default"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=7)
X_train, X_test = X_train.copy(), X_test.copy()

amounts = ["LIMIT_BAL", "BILL_AMT1", "PAY_AMT1"]
scaler = RobustScaler()
X_train[amounts] = scaler.fit_transform(X_train[amounts])
X_test[amounts] = scaler.transform(X_test[amounts])

model = CatBoostClassifier(iterations=200, depth=6, random_seed=7, verbose=0, allow_writing_files=False)
model.fit(X_train, y_train)
print("AUC", roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]))
model.save_model("model.cbm")

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
