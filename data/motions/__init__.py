"""Recorded motions: labelled records of motions, markers, orientations and forces, and the files that hold them."""

import lazy_loader

from myoquat.core.deprecation import former_names

_look_up, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_FORMER = {  # name: the object, and what to write in its place
    "read_markers": ("myoquat.data.trc.read_markers", "myoquat.data.load_table"),
    "read_motion": ("myoquat.data.storage.read_motion", "myoquat.data.load_table"),
    "write_markers": ("myoquat.data.trc.write_markers", "myoquat.data.save_table"),
    "write_motion": ("myoquat.data.storage.write_motion", "myoquat.data.save_table"),
}
__getattr__ = former_names(__name__, _FORMER, _look_up)
