"""
Gates for a build server
========================

A gate is a limit on a measured gap. The build fails if a gate fails, as it does if a
test fails. The command line has the same gates as options, with exit status 1 where one
fails.
"""

import numpy as np

from partialfair.audit import audit_scores

random = np.random.default_rng(0)
n = 5000
sex = random.choice(["F", "M"], n)
score = random.normal(size=n) + 0.2 * (sex == "M")
label = random.random(n) < 1 / (1 + np.exp(-score))

# %%
# The limits are part of the build, beside the tests. The third one is the four-fifths
# rule.

limits = {"sp": 0.1, "rank_gap": 0.1, "selection_ratio": 0.8}
audit = audit_scores(score, sex, label, interval=[(0.05, 0.5)], gates=limits)
for gate in audit.gates:
    print("holds:" if gate.passed else "fails:", gate, f"(measured {gate.value:.3f})")

# %%
# ``passed`` is what a test asserts. Here one gate fails.

print("passed" if audit.passed else "failed: the build stops here")

# %%
# The picture shows how far each gap lies from its limit. The report for the server is
# JUnit or SARIF.

figure = audit.plot()
print(audit.to_junit()[:300])
