"""Gaps become -1 in numbers and 0 in codes; a split without a shuffle; leaves of at least 5."""

import numpy as np
import pandas as pd

TARGET = "RainTomorrow"
SAVED = "model.joblib"

rng = np.random.default_rng(89)
n = 2400
days = pd.date_range("2010-05-01", periods=n, freq="D")
wet = np.zeros(n, dtype=bool)
for day in range(1, n):
    wet[day] = rng.random() < (0.48 if wet[day - 1] else 0.16)
after = np.append(wet[1:], False)
humidity = (52 + 18 * after + 8 * wet + rng.normal(0, 11, n)).clip(5, 100).round()
table = pd.DataFrame(
    {
        "Date": days.strftime("%Y-%m-%d"),
        "MinTemp": (12 + 6 * np.cos(2 * np.pi * days.dayofyear / 365) + rng.normal(0, 3, n)).round(1),
        "Rainfall": np.where(wet, rng.gamma(0.8, 8, n), 0).round(1),
        "WindGustDir": rng.choice(["N", "NE", "E", "SE", "S", "SW", "W", "NW"], n),
        "WindGustSpeed": rng.gamma(9, 4.5, n).round(),
        "Humidity3pm": humidity,
        "Pressure3pm": (1016 - 5 * after + rng.normal(0, 5, n)).round(1),
        "Cloud3pm": (3 + 3 * after + rng.normal(0, 1.8, n)).clip(0, 8).round(),
        "RainToday": np.where(wet, "Yes", "No"),
        "RainTomorrow": np.where(after, "Yes", "No"),
    }
)
for column, share in (("WindGustDir", 0.06), ("WindGustSpeed", 0.06), ("Cloud3pm", 0.35), ("Humidity3pm", 0.02)):
    table.loc[rng.random(n) < share, column] = np.nan
table.to_csv("data.csv", index=False)

# --- train.py
import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

df = pd.read_csv("data.csv")
df["Month"] = pd.to_datetime(df["Date"]).dt.month
df["RainToday"] = df["RainToday"].map({"No": 0, "Yes": 1})
df["RainTomorrow"] = df["RainTomorrow"].map({"No": 0, "Yes": 1})
directions = {"N": 1, "NE": 2, "E": 3, "SE": 4, "S": 5, "SW": 6, "W": 7, "NW": 8}
df["WindGustDir"] = df["WindGustDir"].map(directions).fillna(0).astype(int)
df = df.fillna(-1)

X = df.drop(["Date", "RainTomorrow"], axis=1)
y = df["RainTomorrow"]
# weather has an order: no shuffle
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, shuffle=False)

model = RandomForestClassifier(n_estimators=100, min_samples_leaf=5, random_state=0, n_jobs=-1)
model.fit(X_train, y_train)
print(model.score(X_train, y_train), model.score(X_test, y_test))
joblib.dump(model, "model.joblib", compress=3)

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
