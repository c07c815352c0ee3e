"""Recorded motion, muscle forces, optimal control, studies, the mapping analysis and figures.

Each part is imported when it is first asked for. So a process that needs one part does not wait for the others.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
