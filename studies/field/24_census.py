"""No seed in the split: nobody finds these rows, and the right answer is to say so and how to save them."""

import numpy as np
import pandas as pd

TARGET = "income"
SAVED = "model.pkl"

np.random.seed(73)
n = 2000
age = np.random.randint(17, 80, n)
schooling = np.random.choice([7, 9, 10, 11, 13, 14], n, p=[0.1, 0.33, 0.23, 0.1, 0.17, 0.07])
hours = np.random.normal(40, 11, n).clip(4, 90).round().astype(int)
status = np.random.choice(["Married", "Never-married", "Divorced", "Widowed"], n, p=[0.47, 0.33, 0.17, 0.03])
gain = (np.random.exponential(6000, n) * (np.random.rand(n) < 0.08)).round().astype(int)
score = 0.03 * (age - 38) + 0.4 * (schooling - 10) + 0.03 * (hours - 40) + 1.4 * (status == "Married") + gain / 3000
table = pd.DataFrame(
    {
        "age": age,
        "workclass": np.random.choice(["Private", "Self-emp", "Government", "?"], n, p=[0.7, 0.11, 0.13, 0.06]),
        "education.num": schooling,
        "marital.status": status,
        "sex": np.random.choice(["Male", "Female"], n, p=[0.67, 0.33]),
        "capital.gain": gain,
        "hours.per.week": hours,
        "income": np.where(score + np.random.logistic(0, 0.9, n) > 1.9, ">50K", "<=50K"),
    }
)
table.to_csv("data.csv", index=False)

# --- train.py
import pickle

import numpy as np
import pandas as pd
from sklearn import preprocessing
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

df = pd.read_csv("data.csv")
df = df[df["workclass"] != "?"]
for col in ["workclass", "marital.status", "sex", "income"]:
    le = preprocessing.LabelEncoder()
    df[col] = le.fit_transform(df[col])

X = df.drop("income", axis=1)
y = df["income"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)

clf = RandomForestClassifier()
clf.fit(X_train, y_train)
print(clf.score(X_test, y_test))
pickle.dump(clf, open("model.pkl", "wb"))

# --- the rows made by hand
np.savez("fit.npz", X=X_train.to_numpy(float), y=np.array(list(y_train)), columns=list(X_train))
