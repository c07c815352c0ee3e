from .body import notes_of as notes_of
from .body import patterns_of as patterns_of
from .body import write_kernel as write_kernel
