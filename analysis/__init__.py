"""Mapping analysis, studies, figures and the command line. Each part is imported when it is first asked for. The
command line therefore starts faster, and a process that needs one part does not wait for the others."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
