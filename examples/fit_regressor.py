"""
Predict numbers with equal distributions
========================================

``DemographicParityRegressor`` wraps a regression, so that its predictions are
distributed nearly alike in every group. The setting ``epsilon`` bounds the
Kolmogorov–Smirnov distance: the largest difference between the shares of two groups
that are predicted above the same number.
"""

import numpy as np
from matplotlib import pyplot as plt

from partialfair.estimators import DemographicParityRegressor

random = np.random.default_rng(0)
n = 4000
group = random.choice(["a", "b"], n)
X = random.normal(size=(n, 4))
X[:, 0] += 1.2 * (group == "b")
y = X.sum(axis=1) + random.normal(size=n)
train, test = np.arange(n) < 3000, np.arange(n) >= 3000

# %%
# The regression is least squares here, and may be any other.

model = DemographicParityRegressor(epsilon=0.05, uses_group=True, random_state=0)
model.fit(X[train], y[train], sensitive_features=group[train])
print(f"{model.status_}: distance {model.base_ks_:.2f} before, {model.ks_:.2f} after")

# %%
# The predictions of the regression differ by group; those of the constrained model
# hardly do.

before = model.regressor_.predict(np.column_stack([X[test], group[test] == "b"]))
after = model.predict(X[test], sensitive_features=group[test])

bins = np.linspace(-6, 8, 25)
figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharex=True, sharey=True)
for axis, title, values in zip(
    axes, ("least squares", "epsilon = 0.05"), (before, after), strict=True
):
    for name in ("a", "b"):
        axis.hist(
            values[group[test] == name], bins, histtype="step", label=f"group {name}"
        )
    error = np.mean((values - y[test]) ** 2)
    axis.set(
        title=f"{title}: squared error {error:.2f}", xlabel="prediction", ylabel="rows"
    )
axes[0].legend()
figure.tight_layout()
