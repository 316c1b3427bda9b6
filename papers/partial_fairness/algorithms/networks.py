"""What the algorithms for networks share: settings, the network of a task, and training without constraints."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from partialfair import plugins
from partialfair.algorithms.contract import Settings, Task, unsuitable
from partialfair.data.dataset import Dataset
from partialfair.errors import ConfigError
from partialfair.models import torch_backend
from partialfair.models.network import NetworkScore
from partialfair.seeding import derive_seed, generator

Arrays = dict[str, NDArray[Any]]


class NetworkSettings(Settings):
    """The network, and its training without constraints.

    Attributes:
        network: "resnet18" for images, "linear" for tables; "auto" chooses by the dataset.
        width: channels of the first stage of the ResNet; 64 is ResNet-18.
        stem: "imagenet", or "small" for images below about 64 pixels.
        weights: file of torchvision's public weights to start from; by default random weights.
        batch: rows per step.
        epochs: passes over the training rows; the one with the best validation accuracy is kept.
        learning_rate, weight_decay: of Adam.
        channels_last, autocast: faster memory layout and bfloat16 convolutions on a GPU.
    """

    network: Literal["auto", "resnet18", "linear"] = "auto"
    width: PositiveInt = 64
    stem: Literal["imagenet", "small"] = "imagenet"
    weights: str | None = None
    batch: PositiveInt = 64
    epochs: PositiveInt = 10
    learning_rate: PositiveFloat = 1e-3
    weight_decay: NonNegativeFloat = 0.0
    channels_last: bool = False
    autocast: bool = False


class DeepIDCASettings(NetworkSettings):
    """Settings of the network and of the method; ``batch`` rows are divided equally among the subsets.

    Attributes:
        start: begin at the network trained without constraints, or at a constant score (its last layer set to 0).
            Either has thresholds that suit its scores; the second satisfies every constraint.
        rounds: outer iterations.
        inner_steps: T, steps per outer iteration.
        rho: bound of the score's weak convexity; 0 for a linear score.
        step_scale: multiplies the step 1 / (2 T) of the primal-dual method.
        next_iterate: which point of the subproblem is the next outer iterate: the average, as the method's analysis
            has it, or the last.
        keep_queues: whether the queues go on from one outer iteration to the next instead of starting at 0.
        tolerance: violation up to which an outer iterate counts as feasible when one is chosen.
    """

    start: Literal["unconstrained", "constant"] = "constant"
    rounds: PositiveInt = 20
    inner_steps: PositiveInt = 100
    rho: NonNegativeFloat = 0.1
    step_scale: PositiveFloat = 1.0
    next_iterate: Literal["average", "last"] = "average"
    keep_queues: bool = False
    tolerance: PositiveFloat = 0.01


def untrainable(constraint: str, data: Dataset) -> str | None:
    """Why a network cannot be trained: no two classes, one group, no DC constraint, or PyTorch is not installed."""
    reason = unsuitable(data, images=True)
    if reason is None and not plugins.is_fused(constraint):
        return f"{constraint} is no difference of hinge means, which this algorithm linearises"
    if reason is None and not torch_backend.available():
        return torch_backend.REMEDY
    return reason


def make_network(task: Task, settings: NetworkSettings) -> tuple[str, dict[str, Any], Any]:
    """Architecture, its options, and the network with its first weights.

    Raises:
        ConfigError: the network does not fit the rows, or the task has a loss or surrogate that is not built in.
    """
    import torch

    image = task.train.image_shape
    name = settings.network if settings.network != "auto" else "resnet18" if image else "linear"
    if (name == "resnet18") != (image is not None):
        rows = "images" if image else "rows of a table"
        raise ConfigError(f"network is {name}, and {task.train.name} consists of {rows}; set network to auto")
    if plugins.chosen(task.loss) != ("logistic", {}) or plugins.chosen(task.surrogate) != ("clipped_linear", {}):
        raise ConfigError("networks are trained with the logistic loss and the clipped-linear surrogate; name these")
    options: dict[str, Any]
    if name == "resnet18":
        from partialfair.models import resnet

        options = {"width": settings.width, "stem": settings.stem}
        network = resnet.ResNet18(**options)
        resnet.initialise(network, derive_seed("initial weights", task.train.name, task.seed))
        if settings.weights is not None:
            resnet.load_public_weights(network, settings.weights)
        return name, options, network
    from partialfair.models.linear_network import LinearNetwork

    data = task.train
    options = {"n_features": data.n_features, "n_groups": data.n_groups, "uses_group": task.uses_group}
    network = LinearNetwork(**options)
    columns = torch.from_numpy(task.standardiser.columns)
    network.centre[columns] = torch.as_tensor(task.standardiser.mean, dtype=torch.float32)
    network.scale[columns] = torch.as_tensor(task.standardiser.scale, dtype=torch.float32)
    return name, options, network


@dataclass(eq=False)
class Training:
    """Adam on the logistic loss, epoch by epoch; batch normalisation learns its statistics here.

    Attributes:
        task, settings: what is trained, and how.
        function: the network as a function of its weights, on its device.
        name, options: architecture.
        epoch: epochs done.
        best: validation accuracy and state of the best epoch so far, and its number.
        losses: mean training loss of every epoch, as met on the way.
    """

    task: Task
    settings: NetworkSettings
    function: Any
    name: str
    options: dict[str, Any]
    epoch: int = 0
    best: tuple[float, int, Arrays] = (-1.0, 0, {})
    losses: tuple[float, ...] = ()

    @classmethod
    def start(cls, task: Task, settings: NetworkSettings) -> "Training":
        """The network with its first weights, on its device."""
        from partialfair.models.network_function import NetworkFunction

        device = torch_backend.pick_device(task.device)
        name, options, network = make_network(task, settings)
        function = NetworkFunction(network, device, settings.channels_last, settings.autocast)
        return cls(task, settings, function, name, options)

    def run(self) -> None:
        """Train all epochs, from the checkpoint of an interrupted run if there is one; then take the best epoch."""
        optimiser = self._optimiser()
        self._resume(optimiser)
        while self.epoch < self.settings.epochs:
            loss = self._pass(optimiser)
            self.epoch += 1
            self.losses += (loss,)
            accuracy = validation_accuracy(self.task, self.function, self.function.start())
            if accuracy > self.best[0]:
                self.best = accuracy, self.epoch, self.function.state(self.function.start())
            self.task.report(f"epoch {self.epoch}: loss {loss:.4f}, validation accuracy {accuracy:.4f}")
            if self.task.checkpoint is not None:
                self.task.checkpoint.save(self._arrays(optimiser))
        load_state(self.function.network, self.best[2])

    def _optimiser(self) -> Any:
        """Adam in one kernel: its square root is rounded as IEEE says, that of ``torch.sqrt`` as MKL does here."""
        import torch

        weights, decay = self.function.network.parameters(), self.settings.weight_decay
        return torch.optim.Adam(weights, self.settings.learning_rate, weight_decay=decay, fused=True)

    def _pass(self, optimiser: Any) -> float:
        """One pass over the training rows in an order of its own; returns the mean loss."""
        import torch

        data, function, batch = self.task.train, self.function, self.settings.batch
        order = generator("training order", data.name, self.task.seed, self.epoch).permutation(data.n_rows)
        y, total = torch.as_tensor(data.y, dtype=torch.float32, device=function.device), 0.0
        function.network.train()
        # an incomplete last batch is left out, unless it is the only one
        for start in range(0, data.n_rows - data.n_rows % batch or data.n_rows, batch):
            rows = order[start : start + batch]
            inputs = function.inputs(data.X, data.group, rows)
            with torch.autocast(function.device.type, torch.bfloat16, enabled=function.autocast):
                scores = function.network(*inputs)
            loss = torch.nn.functional.softplus(-y[torch.as_tensor(rows, device=y.device)] * scores.float()).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) * len(rows)
        function.network.eval()
        return total / (data.n_rows - data.n_rows % batch or data.n_rows)

    def _arrays(self, optimiser: Any) -> Arrays:
        """Everything that the next epoch depends on."""
        arrays: Arrays = {f"net/{name}": v for name, v in self.function.state(self.function.start()).items()}
        arrays |= {f"best/{name}": values for name, values in self.best[2].items()}
        for index, slots in optimiser.state_dict()["state"].items():
            arrays |= {f"adam/{index}/{slot}": values.cpu().numpy() for slot, values in slots.items()}
        counts = {"epoch": self.epoch, "best_accuracy": self.best[0], "best_epoch": self.best[1]}
        return arrays | {name: np.array(value) for name, value in counts.items()} | {"losses": np.array(self.losses)}

    def _resume(self, optimiser: Any) -> None:
        """Take up the state of an interrupted run."""
        import torch

        arrays = self.task.checkpoint.load() if self.task.checkpoint is not None else None
        if arrays is None or "losses" not in arrays:
            return
        load_state(self.function.network, under_prefix(arrays, "net/"))
        self.epoch, self.losses = int(arrays["epoch"]), tuple(arrays["losses"].tolist())
        self.best = float(arrays["best_accuracy"]), int(arrays["best_epoch"]), under_prefix(arrays, "best/")
        state = optimiser.state_dict()
        for name, values in under_prefix(arrays, "adam/").items():
            index, slot = name.split("/")
            state["state"].setdefault(int(index), {})[slot] = torch.from_numpy(values)
        optimiser.load_state_dict(state)
        self.task.report(f"taken up after epoch {self.epoch}")

    def model(self, w: Any, aux: NDArray[np.float64]) -> NetworkScore:
        """The score model with given weights."""
        data = self.task.train
        return NetworkScore(
            architecture=self.name,
            options=self.options,
            state=self.function.state(w),
            aux=aux,
            shape=data.image_shape or (data.n_features,),
            group_names=data.group_names,
            uses_group=self.name == "linear" and self.task.uses_group,
            device=self.function.device.type,
        )


def validation_accuracy(task: Task, function: Any, w: Any) -> float:
    """Share of validation rows on the right side of threshold 0."""
    scores = function.all_scores(w, task.validation.X, task.validation.group)
    return float(np.mean(np.where(scores > 0, 1.0, -1.0) == task.validation.y))


def load_state(network: Any, state: Arrays) -> None:
    """Set weights and batch statistics of a network."""
    import torch

    network.load_state_dict({name: torch.from_numpy(np.array(values)) for name, values in state.items()})


def under_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with ``prefix``, without it."""
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
