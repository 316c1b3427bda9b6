"""
Redraw a figure of a paper
==========================

Every figure is drawn from a committed table, so that you can draw it in your own way,
without training anything. This is a panel of Figure 1 of the partial fairness paper:
census data (a9a), groups by sex, equal shares of both groups at every threshold of an
interval.

On the command line, ``partialfair reproduce figure1`` makes the whole figure and trains
one seed of it beside the committed results.
"""

from pathlib import Path

import pandas as pd
from matplotlib import pyplot as plt

import reproduction

# %%
# The table has a line for each method and tolerance: means over 15 seeds with 95%
# intervals.

root = Path(reproduction.__file__).parents[2]
table = pd.read_csv(root / "reports" / "figure1" / "figure1.csv")
panel = table[
    (table.experiment == "psp")
    & (table.dataset == "a9a")
    & (table.source == "reproduced")
]
panel.head()

# %%
# The unconstrained model is a single point. IDCA is the paper's method.

figure, axis = plt.subplots(figsize=(6, 4))
for name, line in panel.groupby("algorithm"):
    line = line.sort_values("fairness")
    bars = [
        [line.accuracy - line.accuracy_low, line.accuracy_high - line.accuracy],
        [line.fairness - line.fairness_low, line.fairness_high - line.fairness],
    ]
    axis.errorbar(
        line.fairness, line.accuracy, *bars, marker="o", markersize=4, label=name
    )
axis.set(
    xlabel="fairness on I (1 = parity)",
    ylabel="test accuracy",
    title="a9a, census income",
)
axis.legend(fontsize=8)
figure.tight_layout()
