"""The library: every file format, read and written, and the models that come with the package.

A format is imported when its first file is read or written; `myoquat.data.formats` is the table.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
