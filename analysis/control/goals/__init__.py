"""Goals: one file per family, all with the verbs of `myoquat.analysis.control.goals.base`."""
