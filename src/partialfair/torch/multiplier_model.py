"""Multipliers that are a network of the constraints' descriptions, for more constraints than a batch can speak of."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from partialfair.algorithms import stochastic_steps as steps
from partialfair.errors import ConfigError
from partialfair.torch.multipliers import Constraints, Evaluation, Multipliers
from partialfair.torch.rules import Ascent, Weights


class MultiplierModel(Multipliers):
    """The multiplier of constraint j is ``|network(descriptions[j])|``.

    After every step of the optimiser that it follows, an optimiser of its own moves the network up along
    ``dual_scale <multipliers, strict>``. Pass the numbers of the constraints of a step as ``which``, for instance of
    one group that was drawn.

    Source: Narasimhan et al., Approximate heavily-constrained learning with Lagrange multiplier models (NeurIPS 2020).

    Args:
        constraints: names or number of the m constraints.
        descriptions: (m, p) features of each constraint, for instance of the group that it is on.
        network: of descriptions (j, p), with one output (j, 1).
        optimiser: of the network's parameters; Adagrad with step .01 by default.
        dual_scale: factor of the multipliers' objective.
        process_group, check: see :class:`~partialfair.torch.multipliers.Multipliers`.

    Raises:
        ConfigError: another number of descriptions than of constraints.
    """

    REPEATS = True
    descriptions: Tensor

    def __init__(
        self,
        constraints: Constraints,
        descriptions: Tensor,
        network: nn.Module,
        optimiser: torch.optim.Optimizer | None = None,
        *,
        dual_scale: float = 1.0,
        process_group: Any = None,
        check: bool = True,
    ) -> None:
        super().__init__(constraints, _Model(dual_step=dual_scale), process_group=process_group, check=check)
        require_descriptions(descriptions)
        if len(descriptions) != len(self.names):
            raise ConfigError(
                f"descriptions has {len(descriptions)} rows; pass one for each of the {len(self.names)} constraints"
            )
        self.network = network
        self.register_buffer("descriptions", descriptions, persistent=False)
        self.dual_optimiser = torch.optim.Adagrad(network.parameters(), 0.01) if optimiser is None else optimiser

    def multipliers(self, which: Tensor | None = None) -> Tensor:
        """Multipliers (j,), at least 0, with their graph."""
        return steps.model_multipliers(self._outputs(which))[0]

    def _outputs(self, which: Tensor | None) -> Tensor:
        """Outputs (j,) of the network for some constraints, by default for all, with their graph."""
        rows = self.descriptions if which is None else self.descriptions[which]
        return torch.as_tensor(self.network(rows)).reshape(-1)

    def named_multipliers(self) -> dict[str, float]:
        """See :class:`~partialfair.torch.multipliers.Multipliers`."""
        with torch.no_grad():
            return dict(zip(self.names, self.multipliers().tolist(), strict=True))

    def weigh(self, strict: Tensor, again: Tensor | None, which: Tensor | None) -> Evaluation:
        """The network's multipliers, whatever the values are."""
        strict = self._read(strict)
        with torch.no_grad():
            return Evaluation(strict, strict, which, Weights(self.multipliers(which), {}))

    @torch.enable_grad()  # type: ignore[untyped-decorator]
    def step(self, lr: float | None = None) -> None:
        """Move the network by the values of the evaluations since the last step."""
        if not self._evaluations:
            return
        self.dual_optimiser.zero_grad()
        for evaluation in self._evaluations:
            outputs = self._outputs(evaluation.which)
            _, slope = steps.model_multipliers(outputs.detach())
            weights = steps.model_weights(evaluation.strict, self.rule.dual_step)  # type: ignore[attr-defined]
            outputs.backward(weights * slope / len(self._evaluations))
        self.dual_optimiser.step()
        self.latest = self._evaluations[-1].strict
        self.steps += 1
        self.discard()

    def get_extra_state(self) -> dict[str, Any]:
        """Also the state of the network's optimiser."""
        return {**super().get_extra_state(), "dual_optimiser": self.dual_optimiser.state_dict()}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Also of the network's optimiser."""
        self.rule, self.steps = _Model(**state["settings"]), state["steps"]
        self.dual_optimiser.load_state_dict(state["dual_optimiser"])
        self.discard()


class _Model(Ascent):
    """Settings of a multiplier model: ``dual_step`` is the scale of its objective; it has no other."""

    STATE = ()


def require_descriptions(descriptions: Any) -> None:
    """Refuse descriptions of constraints that are no table (m, p) of floating-point numbers."""
    if not isinstance(descriptions, Tensor) or descriptions.dim() != 2 or not descriptions.is_floating_point():
        raise ConfigError(f"descriptions is {descriptions!r}; pass a tensor (m, p) of floating-point numbers")


def multiplier_network(n_inputs: int, hidden: Sequence[int] = (100, 100, 100)) -> nn.Sequential:
    """A network of ReLU layers for :class:`MultiplierModel`, which begins near multipliers of 1.

    Args:
        n_inputs: width of the descriptions, p; hidden: widths of the layers.
    """
    widths = (n_inputs, *hidden, 1)
    layers = [layer for a, b in zip(widths, widths[1:], strict=False) for layer in (nn.Linear(a, b), nn.ReLU())][:-1]
    nn.init.ones_(layers[-1].bias)
    return nn.Sequential(*layers)
