"""Age from the year, the brand out of the name, numbers with units; a grid search around a regressor."""

import numpy as np
import pandas as pd

TARGET = "selling_price"
SAVED = "model.pkl"

rng = np.random.default_rng(67)
n = 1500
worth = {"Maruti": 380, "Hyundai": 450, "Honda": 520, "Tata": 330, "Toyota": 780, "BMW": 2100}
brand = rng.choice(list(worth), n, p=[0.34, 0.25, 0.13, 0.15, 0.09, 0.04])
year = rng.integers(2004, 2021, n)
km = (rng.gamma(3, 4500, n) * (2021 - year) / 3).round(-2).astype(int)
fuel = rng.choice(["Petrol", "Diesel", "CNG"], n, p=[0.48, 0.49, 0.03])
engine = rng.choice([796, 998, 1197, 1248, 1498, 1998], n)
price = (
    np.array([worth[one] for one in brand])
    * 1.6
    * 0.9 ** (2021 - year)
    * (engine / 1200) ** 0.5
    * rng.lognormal(0, 0.15, n)
)
table = pd.DataFrame(
    {
        "name": [
            f"{b} {m} {t}"
            for b, m, t in zip(
                brand,
                rng.choice(["Alto", "City", "i20", "Nexon", "Swift"], n),
                rng.choice(["LXI", "VX", "ZX"], n),
                strict=True,
            )
        ],
        "year": year,
        "selling_price": (price * 1000).round(-3).astype(int),
        "km_driven": [f"{one:,} km" for one in km],
        "fuel": fuel,
        "transmission": rng.choice(["Manual", "Automatic"], n, p=[0.87, 0.13]),
        "owner": rng.choice(["First Owner", "Second Owner", "Third Owner"], n, p=[0.65, 0.27, 0.08]),
        "engine": [f"{one} CC" for one in engine],
    }
)
table.to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV, train_test_split

cars = pd.read_csv("data.csv")
cars["brand"] = cars["name"].str.split(" ").str[0]
cars["age"] = 2021 - cars["year"]
cars["km_driven"] = cars["km_driven"].str.replace(",", "").str.replace(" km", "").astype(int)
cars["engine"] = cars["engine"].str.extract(r"(\d+)")[0].astype(float)
cars["owner"] = cars["owner"].map({"First Owner": 1, "Second Owner": 2, "Third Owner": 3})
cars = cars.drop(columns=["name", "year"])
cars = pd.get_dummies(cars, columns=["brand", "fuel", "transmission"], drop_first=True, dtype=int)

X = cars.drop(columns="selling_price")
y = cars["selling_price"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)

grid = {"n_estimators": [50, 100], "max_depth": [8, 12]}
search = GridSearchCV(RandomForestRegressor(random_state=42), grid, cv=3, scoring="neg_mean_absolute_error")
search.fit(X_train, y_train)
print(search.best_params_, search.score(X_test, y_test))
pickle.dump(search, open("model.pkl", "wb"))

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
