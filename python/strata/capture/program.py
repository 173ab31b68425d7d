"""A captured model: torch's operators in order, the tensors between them, which weights they read, which layer they belong to.

It is made from any graph of torch.fx whose nodes are operators with example values (torch.export's, or dynamo's after tracing). It is
both what the place level is asked about and what is executed, so that nothing is executed that was not placed.
"""
from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import torch
from torch import fx

from . import kinds

__all__ = ["Op", "Program", "Source", "Tensor", "program_of"]

_DROPPED = ("_assert_tensor_metadata", "_assert_async", "_assert_scalar", "sym_constrain_range", "sym_constrain_range_for_size", "_functional_assert_scalar")


@dataclass
class Tensor:
    """A tensor between operators, or one that comes from outside."""
    name: str
    role: str
    """"activation", "input", "output", "weight"."""
    dtype: Optional[torch.dtype] = None
    shape: Optional[tuple[int, ...]] = None
    """-1: a dimension that is not known. None: no shape at all."""
    bytes: int = 0
    tied: int = 0
    """Weights with the same number, not 0, are one tensor."""
    layer: str = ""


@dataclass
class Op:
    """One operator."""
    name: str
    kind: str
    known: bool
    layer: str
    """Path of the module that it belongs to: "transformer.h.0.attn"; "" for the model itself."""
    inputs: list[int]
    outputs: list[int]
    flops: float
    bytes: float
    """Read and written; below 0: all of its tensors."""
    group: int = 0
    """Operators of the same group, not 0, stay together: they write into what others of them read."""
    nodes: list[fx.Node] = field(default_factory=list, repr=False)
    """The operator, and what takes its results apart."""
    context: Optional[Callable[[], Any]] = field(default=None, repr=False)
    """Makes what it runs within: gradients off, autocast."""
    target: str = ""
    """torch's name of it."""


@dataclass
class Source:
    """Where the value of a placeholder comes from when the program runs."""
    kind: str
    """"input" (argument `number`), "weight" (a parameter or buffer), "constant"."""
    number: int = 0
    fetch: Optional[Callable[[], torch.Tensor]] = None
    name: str = ""


@dataclass
class Program:
    """Operators in an order in which they can run, and all that is needed to run them."""
    name: str
    tensors: list[Tensor]
    ops: list[Op]
    sources: dict[fx.Node, Source]
    results: list[Any]
    """Of each result: a node, or a constant."""
    copies: list[tuple[fx.Node, fx.Node]]
    """(from, to): what is written back into an argument or a buffer when all has run."""
    numbers: dict[fx.Node, int]
    """The tensor of a node."""
    written: list[fx.Node]
    """Arguments, weights and buffers that operators write into."""
    in_order: bool
    """Operators write into tensors of others, or draw random numbers: each device keeps the given order."""
    failed_shapes: int = 0

    @property
    def unknown(self) -> list[Op]:
        """Operators that the cost model does not know."""
        return [op for op in self.ops if not op.known]

    @property
    def weight_bytes(self) -> int:
        """Of all weights, tied ones once."""
        seen: set[int] = set()
        total = 0
        for tensor in self.tensors:
            if tensor.role == "weight" and not (tensor.tied and tensor.tied in seen):
                seen.add(tensor.tied)
                total += tensor.bytes
        return total


def number_of(size: Any) -> int:
    """A dimension as a number: of one that varies the one it was captured with; -1 where there is none."""
    if isinstance(size, int):
        return size
    hint = getattr(getattr(size, "node", None), "hint", None)
    return int(hint) if hint is not None else -1


def _of_value(name: str, role: str, value: Any) -> Optional[Tensor]:
    if isinstance(value, torch.Tensor):
        shape = tuple(number_of(size) for size in value.shape)
        return Tensor(name, role, value.dtype, shape, math.prod(shape) * value.dtype.itemsize if -1 not in shape else 0)
    if isinstance(value, (torch.SymInt, int)) and not isinstance(value, bool):
        return Tensor(name, role, torch.int64, (), 8)
    if isinstance(value, (torch.SymFloat, float)):
        return Tensor(name, role, torch.float64, (), 8)
    if isinstance(value, (torch.SymBool, bool)):
        return Tensor(name, role, torch.bool, (), 1)
    return None


def layer_of(node: fx.Node, prefix: str) -> str:
    """The path of the innermost module that a node was made in."""
    stack = node.meta.get("nn_module_stack") or {}
    path = ""
    for where in stack.values():
        path = where[0] if isinstance(where, tuple) else str(where)
    path = path.removeprefix("L['self'].").removeprefix("L__self___")
    if prefix and (path == prefix or path.startswith(prefix + ".")):
        path = path[len(prefix) + 1:]
    return path


# ---- blocks within which gradients or autocast are set otherwise ----

def _inline(graph_module: fx.GraphModule) -> dict[fx.Node, Callable[[], Any]]:
    """Puts the nodes of such blocks in place of the call; returns what each of them runs within."""
    contexts: dict[fx.Node, Callable[[], Any]] = {}
    graph = graph_module.graph
    while True:
        calls = [node for node in graph.nodes if node.op == "call_function" and getattr(node.target, "__name__", "") in
                 ("wrap_with_set_grad_enabled", "wrap_with_autocast")]
        if not calls:
            break
        for call in calls:
            _inline_one(graph_module, call, contexts)
    return contexts


def _context_of(is_grad: bool, words: Sequence[Any], outer: Optional[Callable[[], Any]]) -> Callable[[], Any]:
    """What makes the context of a block, within that of the block around it."""
    def inner() -> Any:
        return torch.set_grad_enabled(words[0]) if is_grad else torch.autocast(*words)

    def both() -> Any:
        stack = contextlib.ExitStack()
        stack.enter_context(outer())  # type: ignore[misc]
        stack.enter_context(inner())
        return stack
    return inner if outer is None else both


def _inline_one(graph_module: fx.GraphModule, call: fx.Node, contexts: dict[fx.Node, Callable[[], Any]]) -> None:
    position = next(index for index, word in enumerate(call.args) if isinstance(word, fx.Node) and word.op == "get_attr")
    words, body = call.args[:position], getattr(graph_module, str(call.args[position].target))  # type: ignore[union-attr]
    both = _context_of("set_grad" in getattr(call.target, "__name__", ""), words, contexts.pop(call, None))
    for name, child in body.named_children():
        if not hasattr(graph_module, name):
            graph_module.add_submodule(name, child)
    moved: dict[fx.Node, Any] = dict(zip((node for node in body.graph.nodes if node.op == "placeholder"), call.args[position + 1:]))
    results: Any = ()
    with graph_module.graph.inserting_before(call):
        for node in body.graph.nodes:
            if node.op == "output":
                results = fx.map_arg(node.args[0], moved.__getitem__)
            elif node.op != "placeholder":
                made = graph_module.graph.node_copy(node, moved.__getitem__)
                moved[node] = made
                if node.op == "call_function":
                    contexts[made] = both
    if isinstance(results, fx.Node):
        call.replace_all_uses_with(results)
    else:
        for user in list(call.users):
            assert user.target is operator.getitem
            user.replace_all_uses_with(results[user.args[1]])
            graph_module.graph.erase_node(user)
    graph_module.graph.erase_node(call)


# ---- what writes, what draws ----

def _schema_arguments(node: fx.Node) -> Iterable[tuple[Any, Any]]:
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return []
    found = []
    for index, argument in enumerate(schema.arguments):
        usual = argument.default_value if argument.has_default_value() else None
        found.append((argument, node.args[index] if index < len(node.args) else node.kwargs.get(argument.name, usual)))
    return found


def _writes(node: fx.Node) -> list[fx.Node]:
    """The nodes whose tensors a node writes into."""
    found: list[fx.Node] = []
    if kinds.plain_name(node.target) in ("detach", "requires_grad"):  # in place, but not in the data
        return found
    for argument, value in _schema_arguments(node):
        if argument.alias_info is not None and argument.alias_info.is_write:
            fx.map_arg(value, found.append)
    if kinds.plain_name(node.target) == "batch_norm" and len(node.args) > 5 and node.args[5]:  # it says nothing of its statistics
        fx.map_arg(node.args[3:5], found.append)
    return found


def _draws(node: fx.Node) -> bool:
    """Whether it draws random numbers."""
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    words = {argument.name: value for argument, value in _schema_arguments(node)}
    if "train" in words and words["train"] is False:
        return False
    return words.get("dropout_p", 1) != 0


def _aliases(node: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    returns = schema is not None and any(one.alias_info is not None for one in schema.returns)
    return returns or kinds.is_view(node.target) or kinds.plain_name(node.target) in ("to", "float", "type_as", "clone")


class _Sets:
    """Which nodes share memory: union-find."""

    def __init__(self) -> None:
        self._up: dict[Any, Any] = {}

    def find(self, one: Any) -> Any:
        while (up := self._up.setdefault(one, one)) is not one:
            self._up[one] = self._up[up]
            one = up
        return one

    def join(self, one: Any, other: Any) -> None:
        self._up[self.find(one)] = self.find(other)


def _groups(ops: Sequence[Op], sources: Iterable[fx.Node]) -> tuple[bool, list[fx.Node]]:
    """Gives operators that write, and all others that touch the same memory, a group; those that draw another. Whether there are any,
    and the sources that are written into."""
    memory, together = _Sets(), _Sets()
    written, drawing = [], []
    for op in ops:
        node = op.nodes[0]
        for part in op.nodes[1:]:
            memory.join(part, node)
        if _aliases(node) and node.all_input_nodes:
            memory.join(node, node.all_input_nodes[0])
        targets = _writes(node)
        written += targets
        for target in targets:
            memory.join(node, target)
        if _draws(node):
            drawing.append(op)
    roots = {memory.find(node) for node in written}
    if not roots and not drawing:
        return False, []
    for index, op in enumerate(ops):
        for node in (*op.nodes, *op.nodes[0].all_input_nodes):
            root = memory.find(node)
            if root in roots:
                together.join(("op", index), ("memory", id(root)))
    first: Optional[int] = None
    for index, op in enumerate(ops):
        if op in drawing:
            first = index if first is None else first
            together.join(("op", index), ("op", first))
    numbers: dict[Any, int] = {}
    members: dict[Any, int] = {}
    for index in range(len(ops)):
        root = together.find(("op", index))
        members[root] = members.get(root, 0) + 1
    for index, op in enumerate(ops):
        root = together.find(("op", index))
        if members[root] > 1:
            op.group = numbers.setdefault(root, len(numbers) + 1)
    return True, [node for node in sources if memory.find(node) in roots]


# ---- from nodes to operators ----

def _shapes(node: fx.Node) -> list[Optional[tuple[int, ...]]]:
    """Of each argument, one for each tensor of a list."""
    found: list[Optional[tuple[int, ...]]] = []
    for word in (*node.args, *node.kwargs.values()):
        for one in word if isinstance(word, (list, tuple)) else (word,):
            value = one.meta.get("val") if isinstance(one, fx.Node) else None
            found.append(tuple(number_of(size) for size in value.shape) if isinstance(value, torch.Tensor) else None)
    return found


def _touched(node: fx.Node, kind: str, outputs: Sequence[Tensor]) -> float:
    """Bytes read and written, where that is not all of its tensors."""
    written = sum(tensor.bytes for tensor in outputs)
    if kind == "Shape" or (kinds.is_view(node.target) and kinds.plain_name(node.target) != "contiguous"):
        return 0.0
    if kind in ("Gather", "GatherND", "GatherElements", "Slice"):
        return 2.0 * written  # rows that are picked, not the table
    return -1.0


def program_of(graph_module: fx.GraphModule, sources: dict[fx.Node, Source], results: Sequence[Any],
               copies: Sequence[tuple[fx.Node, fx.Node]] = (), name: str = "", prefix: str = "") -> Program:
    """A program from a graph: what its placeholders are, and which nodes are results."""
    contexts = _inline(graph_module)
    program = Program(name, [], [], dict(sources), list(results), list(copies), {}, [], False)
    _take_sources(program, graph_module, prefix)
    wanted = {node for node in program.results if isinstance(node, fx.Node)} | {node for node, _ in copies}
    by_node: dict[fx.Node, Op] = {}
    for node in graph_module.graph.nodes:
        if node.op != "call_function" or kinds.plain_name(node.target) in _DROPPED:
            continue
        if node.target is operator.getitem and isinstance(node.args[0], fx.Node) and node.args[0] in by_node:
            _take_part(program, by_node, node, wanted)
            continue
        op = _take_op(program, node, wanted, prefix)
        op.context = contexts.get(node)
        by_node[node] = op
    program.in_order, program.written = _groups(program.ops, program.sources)
    return program


def _take_sources(program: Program, graph_module: fx.GraphModule, prefix: str) -> None:
    ties: dict[Any, int] = {}
    for node in graph_module.graph.nodes:
        if node.op == "get_attr" and node not in program.sources:
            held = graph_module
            for part in str(node.target).split("."):
                held = getattr(held, part)
            if isinstance(held, torch.Tensor):
                program.sources[node] = Source("constant", fetch=lambda held=held: held, name=str(node.target))
                node.meta.setdefault("val", held)
    for node, source in program.sources.items():
        role = "input" if source.kind == "input" else "weight"
        value = node.meta.get("val")
        if value is None and source.fetch is not None:
            value = source.fetch()
        tensor = _of_value(source.name or node.name, role, value)
        if tensor is None:
            continue
        if role == "weight" and source.fetch is not None:
            tensor.layer = source.name.rpartition(".")[0]
            held = source.fetch()
            number = ties.setdefault((held.data_ptr(), held.shape) if held.device.type != "meta" and held.numel() else id(held), len(ties) + 1)
            tensor.tied = number
        program.numbers[node] = len(program.tensors)
        program.tensors.append(tensor)
    counts: dict[int, int] = {}
    for tensor in program.tensors:
        counts[tensor.tied] = counts.get(tensor.tied, 0) + 1
    for tensor in program.tensors:
        if counts[tensor.tied] == 1:
            tensor.tied = 0


def _take_op(program: Program, node: fx.Node, wanted: set[fx.Node], prefix: str) -> Op:
    kind, known = kinds.kind_of(node.target)
    value = node.meta.get("val")
    inputs = [program.numbers[one] for one in node.all_input_nodes if one in program.numbers]
    if kind == "Attention":
        inputs = _attention_inputs(program, node, inputs)
    made = _of_value(node.name, "output" if node in wanted else "activation", value)
    outputs = []
    if made is not None:
        program.numbers[node] = len(program.tensors)
        outputs.append(program.numbers[node])
        program.tensors.append(made)
        program.failed_shapes += made.shape is None or -1 in made.shape
    elif not isinstance(value, (tuple, list)):
        program.failed_shapes += value is None and bool(node.users)
    first = made if made is not None else next((_of_value("", "", one) for one in value if isinstance(one, torch.Tensor)), None) \
        if isinstance(value, (tuple, list)) else None
    parts = [made] if made is not None else []
    op = Op(node.name, kind, known, layer_of(node, prefix), inputs, outputs,
            kinds.flops_of(node.target, _shapes(node), first.shape if first is not None else None, node.args),
            _touched(node, kind, parts), nodes=[node], target=str(node.target))
    program.ops.append(op)
    return op


def _attention_inputs(program: Program, node: fx.Node, inputs: list[int]) -> list[int]:
    """Query, key, value, and the mask: one that follows from positions alone where it is only said to be causal."""
    words = {argument.name: value for argument, value in _schema_arguments(node)}
    if words.get("is_causal") is True and words.get("attn_mask") is None:
        query, key = (node.args[index].meta["val"].shape for index in (0, 1))  # type: ignore[union-attr]
        inputs = inputs[:3]
        if len(inputs) == 3:
            inputs.append(len(program.tensors))
            program.tensors.append(Tensor(f"{node.name}.causal", "weight", torch.bool, (number_of(query[-2]), number_of(key[-2])), 0))
    return inputs


def _take_part(program: Program, by_node: dict[fx.Node, Op], node: fx.Node, wanted: set[fx.Node]) -> None:
    """One of several results."""
    op = by_node[node.args[0]]  # type: ignore[index]
    made = _of_value(node.name, "output" if node in wanted else "activation", node.meta.get("val"))
    op.nodes.append(node)
    by_node[node] = op
    if made is None:
        return
    program.failed_shapes += made.shape is None or -1 in made.shape
    program.numbers[node] = len(program.tensors)
    op.outputs.append(program.numbers[node])
    program.tensors.append(made)
