"""
Fit a classifier within a tolerance
===================================

``PartialFairClassifier`` is a scikit-learn classifier with a constraint. Its tolerance
kappa bounds the gap between groups on an interval of ranks. After the fit, ``status_``
says whether the gap that was measured on the training rows keeps to kappa.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from partialfair.estimators import PartialFairClassifier

# %%
# The data come with scikit-learn. For the example, patients are grouped by whether the
# texture of their cells is above its median.

X, y = load_breast_cancer(return_X_y=True)
group = np.where(X[:, 1] > np.median(X[:, 1]), "coarse", "fine")
X = StandardScaler().fit_transform(X[:, :8])
X, X_test, y, y_test, group, group_test = train_test_split(
    X, y, group, test_size=0.4, random_state=0, stratify=group
)

# %%
# A smaller kappa asks for more fairness. The accuracy that it costs is the price of the
# constraint.

kappas, accuracies = (0.4, 0.2, 0.1, 0.05), []
for kappa in kappas:
    model = PartialFairClassifier(
        interval=[(0.2, 0.6)], kappa=kappa, kappa_scale="absolute", random_state=0
    )
    model.fit(X, y, sensitive_features=group)
    accuracy = np.mean(model.predict(X_test, sensitive_features=group_test) == y_test)
    print(f"kappa {kappa}: {model.status_}, test accuracy {accuracy:.3f},", end=" ")
    print(f"violation on training rows {model.train_violation_:.3f}")
    accuracies.append(accuracy)

figure, axis = plt.subplots(figsize=(5, 3))
axis.plot(kappas, accuracies, marker="o")
axis.set(xlabel="tolerance kappa", ylabel="test accuracy")
figure.tight_layout()

# %%
# Like every estimator of scikit-learn, the model shows its settings in a notebook.

model
