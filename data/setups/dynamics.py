"""InverseDynamicsTool: a model, a motion, loads, and what is written."""

from pathlib import Path

from myoquat.core.records import dataclass
from myoquat.data.document import text
from myoquat.data.setups.document import SetupDocument

__all__ = ["InverseDynamicsSetup", "read_inverse_dynamics"]


@dataclass(frozen=True)
class InverseDynamicsSetup:
    """Files, times and the cutoff [Hz] of an InverseDynamicsTool; `excluded` are forces that are left out."""

    name: str
    path: Path
    model: Path
    coordinates: Path
    loads: Path | None
    excluded: tuple[str, ...]
    cutoff: float | None
    times: tuple[float, float]
    output: Path


def read_inverse_dynamics(document: SetupDocument) -> InverseDynamicsSetup:
    """The setup of an <InverseDynamicsTool>."""
    root = document.root
    model, motion = document.model_file(root), document.needed_file(root, "coordinates_file")
    output = document.output(root, "output_gen_force_file", document.results) or document.results / "inverse_dynamics"
    return InverseDynamicsSetup(
        document.name,
        document.path,
        model,
        motion,
        document.file(root, "external_loads_file"),
        tuple(text(root, "forces_to_exclude", "").split()),
        document.cutoff(),
        document.times(root),
        output if output.suffix in (".sto", ".mot") else output.with_name(f"{output.name}.sto"),
    )
