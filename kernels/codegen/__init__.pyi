from .constructs import notes_of as notes_of, patterns_of as patterns_of, write_kernel as write_kernel
