"""
A constraint in a PyTorch loop
==============================

The network, the data loader and the optimiser stay yours. A constraint is a tensor of
values that are at most 0 where it holds. ``Lagrangian`` joins them to the loss, with
multipliers that grow while a constraint is violated.
"""

import torch
from matplotlib import pyplot as plt
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from partialfair.torch import Ascent, Lagrangian, Multipliers

torch.manual_seed(0)
torch.set_num_threads(1)  # the network is small
n = 2000
group = torch.randint(0, 2, (n,))
X = torch.randn(n, 4)
X[:, 0] += 1.5 * group
y = (torch.rand(n) < torch.sigmoid(X[:, 0] + X[:, 1])).float()

# %%
# This constraint is our own: the mean scores of the two groups may differ by at most
# 0.2, in either direction.


def mean_gap(scores, codes):
    difference = scores[codes == 0].mean() - scores[codes == 1].mean()
    return torch.stack([difference, -difference]) - 0.2


# %%
# The loop has four lines that a loop without a constraint does not have.

network = torch.nn.Sequential(
    torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
)
optimiser = torch.optim.AdamW(network.parameters(), 0.01)
multipliers = Multipliers(
    ["0 above 1", "1 above 0"], Ascent(dual_step=0.05, penalty=0.0)
).follow(optimiser)
lagrangian = Lagrangian(multipliers)
gaps = []

for _epoch in range(20):
    for rows in torch.randperm(n).split(200):
        scores = network(X[rows]).squeeze(1)
        optimiser.zero_grad()
        values = mean_gap(scores, group[rows])
        lagrangian(bce(scores, y[rows]), values).backward()
        optimiser.step()
        gaps.append(float(values.detach().max()) + 0.2)

# %%
# The constraint is measured on all rows. A batch is only a sample of them.

with torch.no_grad():
    scores = network(X).squeeze(1)
gap = (scores[group == 0].mean() - scores[group == 1].mean()).abs()
print(f"mean scores differ by {gap:.2f}; the bound is 0.20")
print(f"accuracy {((scores > 0) == (y > 0)).float().mean():.2f}")
for name, value in multipliers.named_multipliers().items():
    print(f"multiplier of {name}: {value:.2f}")

figure, axis = plt.subplots(figsize=(5, 3))
axis.plot(gaps, linewidth=1)
axis.axhline(0.2, color="black", linestyle="--")
axis.set(xlabel="step", ylabel="difference of mean scores")
figure.tight_layout()
