"""Shuffled by sklearn's shuffle, then the first 80 %; hour and weekday of a time; free texts dropped; 10 trees."""

import numpy as np
import pandas as pd

TARGET = "priority"
SAVED = "model.pkl"

rng = np.random.default_rng(71)
n = 2500
opened = pd.Timestamp("2023-03-01") + pd.to_timedelta(rng.integers(0, 365 * 24 * 60, n), unit="min")
product = rng.choice(["router", "app", "billing", "tv"], n, p=[0.4, 0.25, 0.2, 0.15])
tier = rng.choice(["basic", "plus", "business"], n, p=[0.6, 0.3, 0.1])
affected = rng.geometric(0.35, n)
subjects = {
    "router": ["No internet since the storm", "router keeps rebooting", "WLAN slow in the evening"],
    "app": ["App crashes at login", "cannot change my password"],
    "billing": ["Charged twice in May", "where is my invoice?"],
    "tv": ["channels missing", "no sound, only picture"],
}
score = 0.9 * (tier == "business") + 0.35 * affected + 0.7 * (product == "router") + rng.normal(0, 0.5, n)
table = pd.DataFrame(
    {
        "ticket_id": [f"T-{one:06d}" for one in rng.permutation(900_000)[:n]],
        "opened_at": opened.strftime("%Y-%m-%d %H:%M"),
        "subject": [rng.choice(subjects[one]) for one in product],
        "product": product,
        "customer_tier": tier,
        "users_affected": affected,
        "previous_tickets": rng.poisson(1.4, n),
        "priority": np.select([score > 2.3, score > 1.3], ["high", "medium"], "low"),
    }
)
table.to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import shuffle

tickets = pd.read_csv("data.csv", parse_dates=["opened_at"])
tickets["hour"] = tickets["opened_at"].dt.hour
tickets["weekday"] = tickets["opened_at"].dt.weekday
tickets["product"] = tickets["product"].astype("category").cat.codes
tickets["customer_tier"] = tickets["customer_tier"].map({"basic": 0, "plus": 1, "business": 2})
tickets["priority"] = tickets["priority"].map({"low": 0, "medium": 1, "high": 2})
tickets = tickets.drop(columns=["ticket_id", "opened_at", "subject"])

tickets = shuffle(tickets, random_state=42)
n_train = int(0.8 * len(tickets))
train, test = tickets.iloc[:n_train], tickets.iloc[n_train:]
X_train, y_train = train.drop(columns="priority"), train["priority"]

forest = RandomForestClassifier(n_estimators=10, random_state=42).fit(X_train, y_train)
print("test accuracy", forest.score(test.drop(columns="priority"), test["priority"]))
with open("model.pkl", "wb") as out:
    pickle.dump(forest, out)

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
