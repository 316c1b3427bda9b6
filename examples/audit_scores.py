"""
Audit a file of scores
======================

A bank has a CSV file with one row per applicant: the score of a model, the applicant's
group and the outcome. Are the scores of the groups alike among the best 5 to 30 per
cent of each group? That is a question of partial fairness: it looks at an interval of
ranks, where the decisions are made.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from partialfair.audit import audit_file

# %%
# Any model may have made the scores. These are simulated: men score higher on average.

random = np.random.default_rng(0)
n = 5000
sex = random.choice(["F", "M"], n)
score = random.normal(size=n) + 0.4 * (sex == "M")
repaid = (random.random(n) < 1 / (1 + np.exp(-score))).astype(int)

file = Path(tempfile.mkdtemp()) / "scores.csv"
pd.DataFrame({"score": score, "sex": sex, "repaid": repaid}).to_csv(file, index=False)

# %%
# The audit gives its answer first. It also states what it cannot say, for instance why
# groups differ.

audit = audit_file(
    file, score="score", group=["sex"], label="repaid", interval=[(0.05, 0.30)]
)
audit

# %%
# The curve of each group shows the share of its rows above a falling threshold. Equal
# curves mean equal treatment by rank.

figure = audit.plot("ranks")

# %%
# Every number is in a table, with its 95% confidence interval.

audit.to_frame()
