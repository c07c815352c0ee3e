"""SymPy: the derivation that a researcher would write, lambdified."""
