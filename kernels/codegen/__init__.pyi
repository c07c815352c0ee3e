from .constructs import patterns_of as patterns_of, write_kernel as write_kernel
