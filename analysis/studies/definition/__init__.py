"""The definition of a study: model, parameters, design, stored quantities, and its files."""
