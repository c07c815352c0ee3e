"""The library: every file format, read and written, and the models that come with the package.

A format is imported when its first file is read or written; `myoquat.data.formats` is the table.
"""

import lazy_loader

from myoquat.core.deprecation import former_names

_look_up, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_FORMER = {  # name: the object, and what to write in its place
    "export_table": ("myoquat.data.tables.write_table", "myoquat.data.save_table"),
    "load_mjcf": ("myoquat.data.mjcf.load_mjcf", "myoquat.data.load_model"),
    "load_urdf": ("myoquat.data.urdf.load_urdf", "myoquat.data.load_model(...).system"),
    "read_markers": ("myoquat.data.trc.read_markers", "myoquat.data.load_table"),
    "read_motion": ("myoquat.data.storage.read_motion", "myoquat.data.load_table"),
    "save_model": ("myoquat.data.library.save_model", "myoquat.Model.save"),
    "write_markers": ("myoquat.data.trc.write_markers", "myoquat.data.save_table"),
    "write_motion": ("myoquat.data.storage.write_motion", "myoquat.data.save_table"),
    "write_urdf": ("myoquat.data.urdf.write_urdf", "myoquat.Model(system).save"),
}
__getattr__ = former_names(__name__, _FORMER, _look_up)
