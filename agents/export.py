"""A trained policy as an ONNX model, for programs that play without this package.

The model takes ``observation`` (n, size) float32 and ``mask`` (n, actions) int8, and gives ``probabilities``
(n, actions) float32: what :class:`~cuckoo_env.agents.policy.PolicyAgent` gives. Its metadata say what the
numbers mean. It is put together from a handful of standard operators, so making it needs no torch.
"""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from cuckoo_env.agents.policy import Policy
from cuckoo_env.engine import ACTION_NAMES
from cuckoo_env.files import write_bytes
from cuckoo_env.observation import LAYOUT_VERSION

OPSET: Final = 17
IR_VERSION: Final = 8
"""Of 2022, both: younger runtimes read them, and nothing newer is needed."""
_OPERATORS: Final = {"relu": "Relu", "tanh": "Tanh"}
_LEAST: Final = np.finfo(np.float32).min
"""The logit of an illegal action; minus infinity would give NaN where no action is legal."""


def as_onnx(policy: Policy) -> onnx.ModelProto:
    """The policy as a checked ONNX model."""
    layout = policy.card.layout
    nodes, logits = _network(policy)
    nodes += [
        helper.make_node("Cast", ["mask"], ["legal"], to=TensorProto.BOOL),
        helper.make_node("Where", ["legal", logits, "least"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["probabilities"], axis=1),
    ]
    weights = {**policy.weights, "least": np.array(_LEAST, np.float32)}
    seen: list[str | int | None] = ["n", layout.size]
    actions: list[str | int | None] = ["n", layout.n_actions]
    graph = helper.make_graph(
        nodes,
        "policy",
        inputs=[
            helper.make_tensor_value_info("observation", TensorProto.FLOAT, seen),
            helper.make_tensor_value_info("mask", TensorProto.INT8, actions),
        ],
        outputs=[helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, actions)],
        initializer=[
            numpy_helper.from_array(np.ascontiguousarray(tensor), name)
            for name, tensor in weights.items()
        ],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="cuckoo-env",
        producer_version=importlib.metadata.version("cuckoo-env"),
    )
    helper.set_model_props(model, metadata(policy))
    onnx.checker.check_model(model, full_check=True)
    return model


def _network(policy: Policy) -> tuple[list[onnx.NodeProto], str]:
    """The layers, and the name of the logits."""
    nodes, values, last = [], "observation", len(policy.card.hidden)
    for k in range(last + 1):
        layer = [values, f"{k}.weight", f"{k}.bias"]
        values = f"{k}.sums"
        nodes.append(helper.make_node("Gemm", layer, [values], transB=1))
        if k < last:
            operator = _OPERATORS[policy.card.activation]
            nodes.append(helper.make_node(operator, [values], [f"{k}.units"]))
            values = f"{k}.units"
    return nodes, values


def metadata(policy: Policy) -> dict[str, str]:
    """What a model says about itself: texts, lists as JSON.

    The keys: ``layout_version`` of the observation; ``rules`` that the policy was trained for; ``covers``,
    for a generalist, what it plays; ``observation``, a name for every number; ``actions``, their names in
    order.
    """
    card = policy.card
    about = {
        "layout_version": str(LAYOUT_VERSION),
        "rules": str(card.rules),
        "observation": json.dumps(card.layout.names()),
        "actions": json.dumps(ACTION_NAMES[: card.layout.n_actions]),
    }
    return about if card.covers is None else {**about, "covers": str(card.covers)}


def export(policy: Policy, path: Path) -> None:
    """Write the policy as an ONNX file, as a whole or not at all.

    Raises:
        OSError: if it cannot be written.
    """
    write_bytes(path, as_onnx(policy).SerializeToString(deterministic=True))
