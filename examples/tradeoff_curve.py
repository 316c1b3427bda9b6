"""
Accuracy against fairness
=========================

``frontier`` fits a classifier for each tolerance of a path. The curve shows how much
accuracy each step towards equal treatment costs. The work that the fits have in common
is done once.
"""

import numpy as np

from partialfair.estimators import PartialFairClassifier, frontier

random = np.random.default_rng(0)
n = 4000
group = random.choice(["F", "M"], n)
X = random.normal(size=(n, 5))
X[:, 0] += 0.9 * (group == "M")
y = random.random(n) < 1 / (1 + np.exp(-1.5 * X[:, 0] - X[:, 1]))

# %%
# The tolerance "inf" is the model without a constraint.

path = frontier(
    PartialFairClassifier(interval=[(0.05, 0.5)], random_state=0),
    X,
    y,
    sensitive_features=group,
    kappas=[np.inf, 0.5, 0.3, 0.2, 0.1, 0.05],
)
path.table[
    ["kappa", "status", "train_accuracy", "validation_accuracy", "validation_sp"]
]

# %%
# On the axis of fairness, 1 is parity. Validation rows were held out from every fit, so
# their curve shows what to expect of new people.

figure = path.plot()
