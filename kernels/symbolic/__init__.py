"""What a formula computes with: operations on elements, arrays of symbols, terms."""
