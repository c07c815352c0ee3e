"""From a formula to a program and its derivatives."""
