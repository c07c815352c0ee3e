"""Damping of joints that a step of semi-implicit Euler takes implicitly, as physics engines do."""

from dataclasses import replace

from myoquat.muscle.model import Model

__all__ = ["with_implicit_damping"]


def with_implicit_damping(model: Model, step: float) -> Model:
    """The model whose explicit steps of semi-implicit Euler are those of `model` with implicit damping of joints.

    Damping D at the speed after a step h: M udot = tau - D (u + h udot), or (M + h D) udot = tau - D u. The damping
    coefficients of joints times h are added to the inertia of their rotors. MuJoCo's integrator "Euler" is that
    (MuJoCo's documentation, Computation, Numerical integration). Energies of the result are not those of the model.
    """
    bodies = tuple(
        replace(body, rotor_inertia=body.rotor_inertia + step * body.damping) if body.damping else body
        for body in model.system.bodies
    )
    return replace(model, system=replace(model.system, bodies=bodies))
