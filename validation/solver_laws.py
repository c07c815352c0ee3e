"""The muscles of the rapid muscle redundancy solver: a f_L f_V + f_PE along the tendon, without damping.

Tendons are rigid and activations reach down to 0 [I. Belli, S. Joshi, J. M. Prendergast, I. Beck, C. Della Santina, L.
Peternel, A. Seth, Does enforcing glenohumeral joint stability matter?, PLoS ONE 18, 2023]. Without damping the force is
affine in the activation, so that every frame is a convex program.
"""

from dataclasses import fields, replace

from myoquat.muscle.laws import ForceLaw, HillLaw
from myoquat.muscle.model import Model


def with_solver_laws(model: Model) -> Model:
    """The model with the muscles of the solver."""
    return replace(model, muscles=tuple(replace(m, law=_rigid(m.law)) for m in model.muscles))


def _rigid(law: ForceLaw | None) -> ForceLaw | None:
    if not isinstance(law, HillLaw):
        return law
    damping = {"damping": 0.0} if any(field.name == "damping" for field in fields(law)) else {}
    return replace(law, tendon="rigid", minimum_activation=0.0, **damping)  # type: ignore[arg-type]
