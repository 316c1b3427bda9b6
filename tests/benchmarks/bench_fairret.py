"""fairret in a PyTorch loop against this project, demographic parity at equal violation."""

from tests.benchmarks.common import Result
from tests.benchmarks.peers import Decide, Rows, compare

STRENGTH = 1.0  # weight of the penalty
SEED = 0


def torch_loop(epochs: int, rate: float, batch: int | None):
    """Logistic regression by Adam on cross-entropy plus fairret's norm loss of positive rates."""

    def fit(rows: Rows) -> Decide:
        import torch
        from fairret.loss import NormLoss
        from fairret.statistic import PositiveRate

        torch.set_num_threads(1)
        torch.manual_seed(SEED)
        X, y = torch.tensor(rows.X, dtype=torch.float32), torch.tensor(rows.y, dtype=torch.float32)[:, None]
        groups = torch.nn.functional.one_hot(torch.tensor(rows.group)).float()
        model, penalty = torch.nn.Linear(X.shape[1], 1), NormLoss(PositiveRate())
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        for _ in range(epochs):
            for part in torch.randperm(len(X)).split(batch) if batch else (slice(None),):
                optimizer.zero_grad()
                logit = model(X[part])
                loss = torch.nn.functional.binary_cross_entropy_with_logits(logit, y[part])
                (loss + STRENGTH * penalty(logit, groups[part])).backward()
                optimizer.step()

        def decide(part: Rows):
            with torch.no_grad():
                return (model(torch.tensor(part.X, dtype=torch.float32))[:, 0] > 0).double().numpy()

        return decide

    return fit


def run() -> list[Result]:
    """The faster of batches of 512 for 30 passes, and 200 steps on all rows at a higher rate."""
    name = f"fairret NormLoss(PositiveRate) of strength {STRENGTH:g}, linear model, Adam"
    peers = {
        f"{name}, batches of 512, 30 epochs": torch_loop(30, 0.01, 512),
        f"{name}, 200 steps on all rows": torch_loop(200, 0.05, None),
    }
    return compare("vs_fairret_time", peers, ">= 5", repeats=2)
