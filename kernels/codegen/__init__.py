"""From a program to LLVM assembly."""
