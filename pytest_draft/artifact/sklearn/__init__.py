"""scikit-learn's estimators, and what stands before them: inert records in, checked forests and encoders out."""
