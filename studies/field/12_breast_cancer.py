"""The fifth of five stratified folds; blanks in names become underscores; LightGBM, pickled."""

import numpy as np
from sklearn.datasets import load_breast_cancer

TARGET = "diagnosis"
SAVED = "model.pkl"

cancer = load_breast_cancer(as_frame=True)
table = cancer.data.copy()
table.insert(0, "id", np.random.default_rng(41).permutation(90_000)[: len(table)] + 842_000)
table.insert(1, "diagnosis", np.where(cancer.target == 0, "M", "B"))
table.to_csv("data.csv", index=False)

# --- train.py
import pickle

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

data = pd.read_csv("data.csv")
data.columns = data.columns.str.replace(" ", "_")
y = data["diagnosis"].map({"M": 1, "B": 0})
X = data.drop(["id", "diagnosis"], axis=1)

scores = []
skf = StratifiedKFold(n_splits=5, shuffle=True, random_state=42)
for fold, (train_idx, valid_idx) in enumerate(skf.split(X, y)):
    X_tr, X_va = X.iloc[train_idx], X.iloc[valid_idx]
    y_tr, y_va = y.iloc[train_idx], y.iloc[valid_idx]
    clf = lgb.LGBMClassifier(n_estimators=100, random_state=42, verbose=-1)
    clf.fit(X_tr, y_tr)
    scores.append(roc_auc_score(y_va, clf.predict_proba(X_va)[:, 1]))
    print("fold", fold, scores[-1])

print("mean auc", np.mean(scores))
with open("model.pkl", "wb") as f:
    pickle.dump(clf, f)

# --- the rows made by hand
np.savez("fit.npz", X=X_tr.to_numpy(float), y=np.array(list(y_tr)), columns=list(X_tr))
