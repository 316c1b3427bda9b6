"""ResNet-18 in plain PyTorch, with one output: the score.

He, Zhang, Ren and Sun, Deep residual learning for image recognition (2016), table 1. Modules have torchvision's names,
so that its public weights file (``resnet18-f37072fd.pth``) loads; the classifier is replaced by one output.
"""

from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from partialfair.errors import ConfigError, DataError

Stem = Literal["imagenet", "small"]
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, which the public weights expect


class Block(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (n, inputs, H, W) to (n, outputs, H / stride, W / stride)."""
        shortcut = x if self.downsample is None else self.downsample(x)
        inner = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(shortcut + self.bn2(self.conv2(inner)))


class ResNet18(nn.Module):
    """Scores of images.

    Attributes:
        width: channels of the first stage; 64 is ResNet-18.
        stem: "imagenet" (7 x 7, stride 2, pooling) or "small" (3 x 3, stride 1) for images below about 64 pixels.
        outputs: 1 for a score; 1000 for the classifier of ImageNet.
    """

    def __init__(self, width: int = 64, stem: Stem = "imagenet", outputs: int = 1) -> None:
        super().__init__()
        large = stem == "imagenet"
        self.conv1 = nn.Conv2d(3, width, *((7, 2, 3) if large else (3, 1, 1)), bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(3, 2, 1) if large else nn.Identity()
        channels = [width, width, 2 * width, 4 * width, 8 * width]
        for stage in range(1, 5):
            before, after = channels[stage - 1 : stage + 1]
            blocks = nn.Sequential(Block(before, after, 1 if stage == 1 else 2), Block(after, after, 1))
            setattr(self, f"layer{stage}", blocks)
        self.fc = nn.Linear(8 * width, outputs)
        self.register_buffer("mean", torch.tensor(MEAN).view(3, 1, 1), persistent=False)
        self.register_buffer("deviation", torch.tensor(DEVIATION).view(3, 1, 1), persistent=False)

    def forward(self, x: torch.Tensor, group: torch.Tensor | None = None) -> torch.Tensor:
        """Return the scores (n,) of images (n, 3, H, W) with values 0..255; the group plays no part."""
        x = (x.float() / 255 - self.mean) / self.deviation
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        for stage in range(1, 5):
            x = getattr(self, f"layer{stage}")(x)
        scores: torch.Tensor = self.fc(x.mean((2, 3)))
        return scores.squeeze(1) if self.fc.out_features == 1 else scores

    def make_constant(self, score: float) -> None:
        """Give every image the same score; the layers below the last one stay."""
        nn.init.zeros_(self.fc.weight)
        nn.init.constant_(self.fc.bias, score)


def initialise(network: ResNet18, seed: int) -> None:
    """Draw the weights as torchvision does: He's normal initialisation, by fan-out; a small score at the start."""
    draw = torch.Generator().manual_seed(seed % 2**63)
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu", generator=draw)
    nn.init.normal_(network.fc.weight, std=0.01, generator=draw)
    nn.init.zeros_(network.fc.bias)


def load_public_weights(network: ResNet18, path: str | Path) -> None:
    """Load all but the classifier from torchvision's weights file; no code of the file is executed.

    Raises:
        DataError: the file is missing or of another kind of network.
        ConfigError: the network is not the one of the file.
    """
    if network.conv1.weight.shape != (64, 3, 7, 7):
        raise ConfigError("public weights fit width 64 and stem imagenet only; set these, or leave weights out")
    try:
        stored: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        names = {name for name in network.state_dict() if not name.startswith("fc.")}
        network.load_state_dict({name: stored[name] for name in names}, strict=False)
    except (OSError, RuntimeError, KeyError, TypeError, AttributeError, EOFError, ValueError) as error:
        raise DataError(
            f"{path}: not torchvision's weights of ResNet-18 ({error}); get resnet18-f37072fd.pth"
        ) from error
    except Exception as error:
        if type(error).__name__ != "UnpicklingError":
            raise
        raise DataError(f"{path}: holds code, which is not executed; get resnet18-f37072fd.pth") from error
