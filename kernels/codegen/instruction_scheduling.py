"""Loops side by side: in a kernel for one state, those that do not wait for each other share the registers."""

from collections.abc import Sequence

from myoquat.kernels.tracing.tape import Ends, Tape, arguments

__all__ = ["groups", "reordered"]


def groups(tape: Tape, ends: Sequence[Ends], identities: Sequence[str | None], width: int) -> list[list[int]]:
    """The calls in groups, in an order in which the operands of each are ready. A group has at most `width` calls of
    one identity, none of which waits for another. A call of the identity None is by itself."""
    order = _levels(tape, ends)
    members: dict[tuple[int, str], list[int]] = {}
    for call, identity in enumerate(identities):
        members.setdefault((order[call], identity or f"alone {call}"), []).append(call)
    return [
        found[k : k + width]
        for (_, _), found in sorted(members.items(), key=lambda item: (item[0][0], item[1][0]))
        for k in range(0, len(found), width)
    ]


def _levels(tape: Tape, ends: Sequence[Ends]) -> list[int]:
    """For every call, the number of calls on the longest way to it."""
    first_in, first_out = tape.inputs - sum(e.gives for e in ends), len(tape.outputs) - sum(e.takes for e in ends)
    source: dict[int, int] = {}
    for call, e in enumerate(ends):
        source |= dict.fromkeys(range(first_in, first_in + e.gives), call)
        first_in += e.gives
    waits: list[int] = []  # of every node, the calls on which it depends directly, as bits
    for node in tape.nodes:
        if node.operation == "input":
            waits.append(1 << source[int(node.number)] if int(node.number) in source else 0)
            continue
        bits = 0
        for i in arguments(node):
            bits |= waits[i]
        waits.append(bits)
    found: list[int] = []
    for call, e in enumerate(ends):
        bits = 0
        for i in tape.outputs[first_out : first_out + e.takes]:
            bits |= waits[i]
        found.append(1 + max((found[k] for k in range(call) if bits >> k & 1), default=0))
        first_out += e.takes
    return found


def reordered(tape: Tape, ends: Sequence[Ends], order: Sequence[int]) -> Tape:
    """The tape with its calls in another order."""
    own_in, own_out = tape.inputs - sum(e.gives for e in ends), len(tape.outputs) - sum(e.takes for e in ends)
    first_in, first_out, inputs, outputs = own_in, own_out, [], []
    for e in ends:
        inputs.append(range(first_in, first_in + e.gives))
        outputs.append(tape.outputs[first_out : first_out + e.takes])
        first_in, first_out = first_in + e.gives, first_out + e.takes
    moved = {old: own_in + new for new, old in enumerate(i for call in order for i in inputs[call])}
    nodes = [
        node._replace(number=moved[int(node.number)])
        if node.operation == "input" and int(node.number) in moved
        else node
        for node in tape.nodes
    ]
    return Tape(nodes, [*tape.outputs[:own_out], *(i for call in order for i in outputs[call])], tape.inputs)
