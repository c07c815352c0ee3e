"""Passive forces beside muscles, with the verbs of `myoquat.muscle.forces.base.PassiveForce`.

Contact forces act between surfaces of bodies, such as `ContactHalfSpace`, `ContactSphere` and `ContactCapsule`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
