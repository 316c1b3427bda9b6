"""A small problem, and the training loop of a user around it: what the tests of ``partialfair.torch`` share."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from partialfair.torch import (
    Ascent,
    BatchConstraint,
    GhostDecay,
    Lagrangian,
    Multipliers,
    Plada,
    StochasticGhost,
    StochasticIDCA,
    alm,
    multiplier_model,
    plada,
    ssl_alm,
    switching_subgradient,
)

N, WIDTH, KAPPA = 512, 6, 0.05

MAKERS: dict[str, Callable[..., Lagrangian]] = {
    "ascent": lambda optimiser, m, **settings: Lagrangian(
        Multipliers(m, Ascent(**{"dual_step": 0.2} | settings)).follow(optimiser)
    ),
    "ssl_alm": ssl_alm,
    "alm": alm,
    "switching": lambda optimiser, m, **settings: switching_subgradient(
        optimiser, m, **{"tolerance": 0.01, "tolerance_decay": 1.0} | settings
    ),
    "plada": lambda optimiser, m, **settings: plada(optimiser, m, **settings),
    "plada prox-linear": lambda optimiser, m, **settings: plada(
        optimiser, m // 2, **{"tolerance": KAPPA, "theta_step": "prox_linear"} | settings
    ),
    "multiplier model": lambda optimiser, m, **settings: multiplier_model(
        optimiser, m, torch.eye(m), hidden=(8,), **settings
    ),
}
"""Every method that is a Lagrangian, around an optimiser and a number of constraints."""

METHODS = list(MAKERS)


def table(n: int = N) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, group codes and labels 0/1; group 1 is favoured by far more than the tolerance."""
    draw = torch.Generator().manual_seed(3)
    group = torch.randint(0, 2, (n,), generator=draw)
    X = torch.randn(n, 5, generator=draw, dtype=torch.get_default_dtype())
    X[:, 0] += 1.5 * group
    y = (torch.rand(n, generator=draw) < torch.sigmoid(X[:, 0] + X[:, 1])).to(X.dtype)
    return X, group, y


def mlp(seed: int = 0, norm: bool = False) -> nn.Sequential:
    torch.manual_seed(seed)
    layers = [nn.Linear(5, WIDTH), *([nn.BatchNorm1d(WIDTH)] if norm else []), nn.Tanh(), nn.Linear(WIDTH, 1)]
    return nn.Sequential(*layers)


def gap() -> BatchConstraint:
    return BatchConstraint(2, "partial_demographic_parity", kappa=KAPPA)


def batch_of(k: int, size: int = 64) -> Tensor:
    """Rows of step k."""
    return torch.randint(0, N, (size,), generator=torch.Generator().manual_seed(100 + k))


class Loop:
    """Network, optimiser and Lagrangian of one training, and its step on the rows of a number.

    Args:
        method: of ``MAKERS``.
        optimiser: of parameters.
        network: by default a small MLP.
        settings: of the method.
    """

    def __init__(
        self,
        method: str,
        optimiser: Callable[[Any], torch.optim.Optimizer] = lambda params: torch.optim.SGD(params, 0.1),
        network: nn.Module | None = None,
        **settings: Any,
    ) -> None:
        self.method = method
        self.network = mlp() if network is None else network
        self.optimiser = optimiser(self.network.parameters())
        self.gap = gap()
        self.lagrangian = MAKERS[method](self.optimiser, 2, **settings)
        self.multipliers = self.lagrangian.multipliers
        self.data = table()

    def parts(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and constraint values of rows."""
        X, group, y = self.data
        scores = self.network(X[rows])[:, 0]
        return bce(scores.float() if scores.dtype != y.dtype else scores, y[rows]), self.values(scores, group[rows])

    def values(self, scores: Tensor, group: Tensor) -> Tensor:
        rule = self.multipliers.rule
        signed = isinstance(rule, Plada) and rule.tolerance is not None
        return self.gap.signed(scores, group) if signed else self.gap(scores, group)

    def scalar(self, rows: Tensor) -> Tensor:
        return self.lagrangian(*self.parts(rows))

    def step(self, k: int, to_none: bool = True) -> None:
        self.optimiser.zero_grad(to_none)
        self.scalar(batch_of(k)).backward()
        self.optimiser.step()

    def run(self, steps: int, first: int = 0) -> "Loop":
        for k in range(first, first + steps):
            self.step(k)
        return self

    @property
    def vector(self) -> Tensor:
        """All parameters of the network."""
        return torch.cat([p.detach().reshape(-1) for p in self.network.parameters()]).clone()

    @property
    def duals(self) -> Tensor:
        """All that the method keeps, as one vector."""
        tensors = [value.reshape(-1) for name, value in self.multipliers.state_dict().items() if torch.is_tensor(value)]
        return torch.cat([torch.zeros(0), *tensors]).clone()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def violation(self) -> float:
        """Largest constraint value on all rows."""
        X, group, _ = self.data
        return float(self.gap(self.network(X)[:, 0], group).max())


class GhostLoop:
    """The same, with directions of Stochastic Ghost."""

    method = "ghost"

    def __init__(
        self, optimiser: Callable[[Any], torch.optim.Optimizer] = lambda params: torch.optim.SGD(params, 0.1),
        network: nn.Module | None = None,
    ) -> None:  # fmt: skip
        self.network = mlp() if network is None else network
        self.optimiser = optimiser(self.network.parameters())
        self.schedule = GhostDecay(self.optimiser)
        self.ghost = StochasticGhost(self.network.parameters(), KAPPA)
        self.gap, self.data = gap(), table()

    def sample(self, size: int) -> tuple[Tensor, Tensor]:
        X, group, y = self.data
        rows = [torch.nonzero(group == code).flatten() for code in (0, 1)]
        both = torch.cat([part[torch.randint(0, len(part), (size,), generator=self.draw)] for part in rows])
        scores = self.network(X[both])[:, 0]
        return bce(scores, y[both]), self.gap(scores, group[both])

    def step(self, k: int, to_none: bool = True) -> None:
        self.draw = torch.Generator().manual_seed(k)
        self.optimiser.zero_grad(to_none)
        self.ghost.backward(self.sample, level=k % 3)
        self.optimiser.step()
        self.schedule.step()

    run, vector, violation = Loop.run, Loop.vector, Loop.violation


class IDCALoop:
    """The same, with derivatives of IDCA."""

    method = "idca"

    def __init__(
        self, optimiser: Callable[[Any], torch.optim.Optimizer] = lambda params: torch.optim.SGD(params, 0.05),
        network: nn.Module | None = None,
        **settings: Any,
    ) -> None:  # fmt: skip
        self.network = mlp() if network is None else network
        self.gap, self.data = gap(), table()
        self.idca = StochasticIDCA(self.network, self.gap, **{"inner_steps": 10, "rho": 0.1} | settings)
        self.optimiser = optimiser(self.idca.trained)
        self.idca.follow(self.optimiser)

    def step(self, k: int) -> None:
        X, group, y = self.data
        rows = batch_of(k)
        self.optimiser.zero_grad()
        self.idca.backward(X[rows], group[rows], loss=lambda scores: bce(scores, y[rows]))
        self.optimiser.step()

    run, vector, violation = Loop.run, Loop.vector, Loop.violation


def loop_of(method: str, *args: Any, **kwargs: Any) -> Any:
    """A loop of any method."""
    others = {"ghost": GhostLoop, "idca": IDCALoop}
    return others[method](*args, **kwargs) if method in others else Loop(method, *args, **kwargs)


ALL = [*METHODS, "ghost", "idca"]
