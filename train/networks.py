"""What the networks of all algorithms share: their activations, and how they become policies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

ACTIVATION_MODULES: Final = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}
"""The modules of :data:`cuckoo_env.agents.policy.ACTIVATIONS`."""


def weights_of(
    network: Iterable[torch.nn.Module], scale: float = 1.0
) -> dict[str, npt.NDArray[np.float32]]:
    """The weights of a network's linear layers, as policies name them, on the CPU and independent of it.

    Args:
        network: its modules in order.
        scale: what the outputs are multiplied by.
    """
    layers = [module for module in network if isinstance(module, torch.nn.Linear)]
    weights = {}
    for k, layer in enumerate(layers):
        times = scale if layer is layers[-1] else 1.0
        weights[f"{k}.weight"] = (layer.weight.detach() * times).cpu().numpy().copy()
        weights[f"{k}.bias"] = (layer.bias.detach() * times).cpu().numpy().copy()
    return weights
