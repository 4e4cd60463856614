"""A grid search around a pipeline with imputers, scaler and one-hot encoder, after a ratio of two columns was made."""

import numpy as np
import pandas as pd

TARGET = "is_canceled"
SAVED = "model.joblib"

rng = np.random.default_rng(97)
n = 1600
lead = rng.exponential(90, n).round().astype(int)
segment = rng.choice(["Online TA", "Groups", "Direct", "Corporate"], n, p=[0.5, 0.2, 0.2, 0.1])
deposit = rng.choice(["No Deposit", "Non Refund", "Refundable"], n, p=[0.86, 0.12, 0.02])
nights = rng.geometric(0.3, n)
total = (nights * rng.gamma(9, 11, n)).round(2)
requests = rng.poisson(0.6, n)
score = 0.008 * lead + 2.5 * (deposit == "Non Refund") + 0.5 * (segment == "Online TA") - 0.7 * requests
table = pd.DataFrame(
    {
        "booking": [f"B{one}" for one in rng.permutation(99_999)[:n]],
        "hotel": rng.choice(["City Hotel", "Resort Hotel"], n, p=[0.66, 0.34]),
        "lead_time": lead,
        "arrival_month": rng.choice("January March May June July August October December".split(), n),
        "nights": nights,
        "adults": rng.choice([1, 2, 3], n, p=[0.2, 0.74, 0.06]),
        "children": np.where(rng.random(n) < 0.03, np.nan, rng.choice([0, 1, 2], n, p=[0.9, 0.06, 0.04])),
        "country": np.where(rng.random(n) < 0.02, None, rng.choice(["PRT", "GBR", "FRA", "ESP", "DEU"], n)),
        "market_segment": segment,
        "deposit_type": deposit,
        "special_requests": requests,
        "total_price": total,
        "is_canceled": (score + rng.logistic(0, 0.8, n) > 1.4).astype(int),
    }
)
table.to_csv("data.csv", index=False)

# --- train.py
import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

bookings = pd.read_csv("data.csv").drop(columns="booking")
bookings["price_per_night"] = bookings["total_price"] / bookings["nights"]
X = bookings.drop(columns="is_canceled")
y = bookings["is_canceled"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)

numbers = X.select_dtypes("number").columns
texts = X.select_dtypes("object").columns
number_steps = Pipeline([("imputer", SimpleImputer(strategy="median")), ("scaler", StandardScaler())])
text_steps = Pipeline(
    [("imputer", SimpleImputer(strategy="most_frequent")), ("onehot", OneHotEncoder(handle_unknown="ignore"))]
)
model = Pipeline(
    [
        ("prep", ColumnTransformer([("num", number_steps, numbers), ("cat", text_steps, texts)])),
        ("rf", RandomForestClassifier(random_state=42)),
    ]
)
search = GridSearchCV(model, {"rf__max_depth": [10, None], "rf__min_samples_leaf": [1, 3]}, cv=3)
search.fit(X_train, y_train)
print(search.best_params_, search.score(X_test, y_test))
joblib.dump(search, "model.joblib")

# --- the rows made by hand: as the forest in the pipeline got them
np.savez("fit.npz", X=search.best_estimator_[:-1].transform(X_train), y=np.array(list(y_train)))
