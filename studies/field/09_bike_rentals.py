"""The first 80 % of the days, month, weekday and year out of the date; LightGBM's text file of a regressor."""

import numpy as np
import pandas as pd

TARGET = "rentals"
SAVED = "model.txt"

rng = np.random.default_rng(31)
days = pd.date_range("2021-01-01", "2023-12-31", freq="D")
n = len(days)
season = np.sin(2 * np.pi * (days.dayofyear.to_numpy() - 105) / 365)
temperature = (12 + 10 * season + rng.normal(0, 3, n)).round(1)
weather = rng.choice(["clear", "mist", "rain"], n, p=[0.6, 0.28, 0.12])
holiday = (rng.random(n) < 0.03).astype(int)
wind = rng.gamma(4, 3, n).round(1)
rentals = (
    2600 + 110 * temperature + 1.1 * np.arange(n) - 1500 * (weather == "rain") - 400 * (weather == "mist")
    - 18 * wind - 500 * holiday + 250 * (days.dayofweek < 5) + rng.normal(0, 320, n)
)  # fmt: skip
table = pd.DataFrame(
    {
        "date": days.strftime("%d.%m.%Y"),
        "holiday": holiday,
        "weather": weather,
        "temp": temperature,
        "humidity": rng.normal(62, 13, n).clip(20, 100).round().astype(int),
        "windspeed": wind,
        "rentals": rentals.clip(20, None).round().astype(int),
    }
)
table.sample(frac=1, random_state=4).to_csv("data.csv", index=False)  # the export was not in order

# --- train.py
import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.metrics import mean_absolute_error

df = pd.read_csv("data.csv")
df["date"] = pd.to_datetime(df["date"], format="%d.%m.%Y")
df = df.sort_values("date").reset_index(drop=True)
df["month"] = df["date"].dt.month
df["weekday"] = df["date"].dt.dayofweek
df["year"] = df["date"].dt.year
df["weather"] = df["weather"].map({"clear": 1, "mist": 2, "rain": 3})

split = int(len(df) * 0.8)
train, test = df[:split], df[split:]
features = ["month", "weekday", "year", "holiday", "weather", "temp", "humidity", "windspeed"]

model = lgb.LGBMRegressor(n_estimators=200, learning_rate=0.05, n_jobs=1, verbose=-1)
model.fit(train[features], train["rentals"])
print("MAE", mean_absolute_error(test["rentals"], model.predict(test[features])))
model.booster_.save_model("model.txt")

# --- the rows made by hand
np.savez("fit.npz", X=train[features].to_numpy(float), y=np.array(list(train["rentals"])), columns=features)
