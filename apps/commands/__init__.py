"""One module per command of `myoquat`."""
