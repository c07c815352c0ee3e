"""From a NumPy formula to SIMD machine code: tracing, LLVM lanes, object cache, threads. Knows no mechanics."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
