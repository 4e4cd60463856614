"""Model, label encoders and list of features in one dict; blank charges are dropped, the split is stratified."""

import numpy as np
import pandas as pd

TARGET = "Churn"
SAVED = "model.pkl"

rng = np.random.default_rng(11)
n = 3000
tenure = rng.integers(0, 73, n)
internet = rng.choice(["DSL", "Fiber optic", "No"], n, p=[0.34, 0.44, 0.22])
contract = rng.choice(["Month-to-month", "One year", "Two year"], n, p=[0.55, 0.21, 0.24])
monthly = 20 + 25 * (internet == "DSL") + 52 * (internet == "Fiber optic") + rng.gamma(2, 5, n)


def extra(share):
    """Return whether people have an extra, which needs the internet."""
    return np.where(internet == "No", "No internet service", np.where(rng.random(n) < share, "Yes", "No"))


table = pd.DataFrame(
    {
        "customerID": [
            f"{rng.integers(1000, 9999)}-{''.join(rng.choice(list('ABCDEFGHKLMNPQ'), 5))}" for _ in range(n)
        ],
        "gender": rng.choice(["Female", "Male"], n),
        "SeniorCitizen": (rng.random(n) < 0.16).astype(int),
        "Partner": rng.choice(["Yes", "No"], n),
        "Dependents": rng.choice(["Yes", "No"], n, p=[0.3, 0.7]),
        "tenure": tenure,
        "PhoneService": rng.choice(["Yes", "No"], n, p=[0.9, 0.1]),
        "InternetService": internet,
        "OnlineSecurity": extra(0.37),
        "TechSupport": extra(0.37),
        "StreamingTV": extra(0.5),
        "Contract": contract,
        "PaperlessBilling": rng.choice(["Yes", "No"], n, p=[0.6, 0.4]),
        "PaymentMethod": rng.choice(["Electronic check", "Mailed check", "Bank transfer", "Credit card"], n),
        "MonthlyCharges": monthly.round(2),
        "TotalCharges": [" " if t == 0 else f"{m:.2f}" for t, m in zip(tenure, monthly * tenure, strict=True)],
    }
)
score = (
    1.3 * (contract == "Month-to-month") - 0.035 * tenure + 0.8 * (internet == "Fiber optic") + rng.logistic(0, 1, n)
)
table["Churn"] = np.where(score > 1.3, "Yes", "No")
table.to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder

df = pd.read_csv("data.csv")
df = df.drop(columns=["customerID"])
df["TotalCharges"] = pd.to_numeric(df["TotalCharges"], errors="coerce")
df = df.dropna()

encoders = {}
for column in df.select_dtypes("object").columns:
    encoders[column] = LabelEncoder()
    df[column] = encoders[column].fit_transform(df[column])

X = df.drop(columns=["Churn"])
y = df["Churn"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42, stratify=y)

model = RandomForestClassifier(random_state=42)
model.fit(X_train, y_train)
print(f"Test accuracy: {model.score(X_test, y_test):.3f}")

data = {"model": model, "encoders": encoders, "features_names": X.columns.tolist()}
with open("model.pkl", "wb") as f:
    pickle.dump(data, f)

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
