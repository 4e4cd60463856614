"""A pipeline of scaler, one-hot encoder and a balanced forest of 200 trees; constants and ids are dropped before."""

import numpy as np
import pandas as pd

TARGET = "Attrition"
SAVED = "model.joblib"

rng = np.random.default_rng(37)
n = 1470
age = rng.normal(37, 9, n).clip(18, 60).round().astype(int)
years = (rng.random(n) * (age - 17)).astype(int)
level = np.minimum(1 + years // 6 + rng.integers(0, 2, n), 5)
overtime = rng.choice(["Yes", "No"], n, p=[0.28, 0.72])
department = rng.choice(["Sales", "Research & Development", "Human Resources"], n, p=[0.3, 0.66, 0.04])
income = (2300 * level * rng.lognormal(0, 0.18, n)).round().astype(int)
score = 1.5 * (overtime == "Yes") - 0.06 * years - 0.0001 * income + rng.logistic(0, 0.8, n)
table = pd.DataFrame(
    {
        "EmployeeNumber": np.arange(n) * 2 + 1,
        "Age": age,
        "Attrition": np.where(score > 1.15, "Yes", "No"),
        "BusinessTravel": rng.choice(["Travel_Rarely", "Travel_Frequently", "Non-Travel"], n, p=[0.71, 0.19, 0.1]),
        "Department": department,
        "DistanceFromHome": rng.integers(1, 30, n),
        "EmployeeCount": 1,
        "EnvironmentSatisfaction": rng.integers(1, 5, n),
        "JobLevel": level,
        "MaritalStatus": rng.choice(["Married", "Single", "Divorced"], n, p=[0.46, 0.32, 0.22]),
        "MonthlyIncome": income,
        "Over18": "Y",
        "OverTime": overtime,
        "StandardHours": 80,
        "YearsAtCompany": years,
    }
)
table.to_csv("data.csv", index=False)

# --- train.py
import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

df = pd.read_csv("data.csv")
df = df.drop(columns=["EmployeeNumber", "EmployeeCount", "Over18", "StandardHours"])
X, y = df.drop(columns="Attrition"), df["Attrition"].map({"Yes": 1, "No": 0})

numeric = X.select_dtypes(include="number").columns.tolist()
categorical = X.select_dtypes(include="object").columns.tolist()
preprocessor = ColumnTransformer(
    [("num", StandardScaler(), numeric), ("cat", OneHotEncoder(handle_unknown="ignore"), categorical)]
)
pipeline = Pipeline(
    [
        ("preprocessor", preprocessor),
        ("classifier", RandomForestClassifier(n_estimators=200, class_weight="balanced", random_state=42)),
    ]
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42, stratify=y)
pipeline.fit(X_train, y_train)
print(classification_report(y_test, pipeline.predict(X_test)))
joblib.dump(pipeline, "model.joblib")

# --- the rows made by hand: as the forest in the pipeline got them
np.savez("fit.npz", X=pipeline[:-1].transform(X_train), y=np.array(list(y_train)))
