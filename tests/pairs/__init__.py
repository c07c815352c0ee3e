"""Models and settings in which every pair of features meets, and laws that hold for all of them.

`python -m tests.pairs N --seed S` checks N cases. A case is a model with its setting and one law. The rows of a
covering array of strength 2 are the models: every level of a feature (`features.FEATURES`) meets every level of each
other feature. `laws.LAWS` holds the laws. None needs a reference value.
"""
