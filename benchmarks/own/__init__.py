"""No peer: costs, errors and theorems of myoquat itself, and the systems that several comparisons use."""
