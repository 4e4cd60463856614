"""A tuple of scaler and model; sixteen crops by a dict of numbers; MinMaxScaler of all rows, without names."""

import numpy as np
import pandas as pd

TARGET = "label"
SAVED = "model.pkl"

rng = np.random.default_rng(59)
crops = (
    "rice maize chickpea lentil banana mango grapes apple orange papaya coconut cotton jute coffee watermelon mungbean"
).split()
low, high = [10, 10, 10, 18, 20, 5.5, 40], [120, 120, 120, 36, 92, 7.5, 240]
centres = rng.uniform(low, high, (16, 7))
which = np.repeat(np.arange(16), 75)
values = centres[which] + rng.normal(size=(len(which), 7)) * [11, 9, 7, 2.4, 5, 0.45, 20]
table = pd.DataFrame(values, columns=["N", "P", "K", "temperature", "humidity", "ph", "rainfall"])
table[["N", "P", "K"]] = table[["N", "P", "K"]].clip(0).round().astype(int)
table["humidity"] = table["humidity"].clip(14, 100)
table.assign(label=[crops[one] for one in which]).to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

crop = pd.read_csv("data.csv")
crop_dict = {name: number for number, name in enumerate(crop["label"].unique(), start=1)}
crop["crop_num"] = crop["label"].map(crop_dict)

X = crop.drop(["label", "crop_num"], axis=1)
y = crop["crop_num"]
ms = MinMaxScaler()
X = ms.fit_transform(X)

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
rfc = RandomForestClassifier(n_estimators=20, random_state=42)
rfc.fit(X_train, y_train)
print(rfc.score(X_test, y_test))

pickle.dump((ms, rfc), open("model.pkl", "wb"))

# --- the rows made by hand
np.savez("fit.npz", X=X_train, y=np.array(list(y_train)))
