"""Fits of surfaces: parts of different numbers of terms."""

import numpy as np

from myoquat.analysis.fits.surface_fit import LeastSquares, Part


def test_a_contact_of_more_terms_than_the_polynomial_beside_it_is_fitted():
    """The observations are those of such parts, so that the errors become small from a guess beside them."""
    rng = np.random.default_rng(3)
    terms = rng.normal(size=(6, 3, 200))
    terms[0, 0], terms[0, 1:] = 1.0, 0.0
    problem = LeastSquares(terms, np.zeros((3, 200)), np.ones((3, 1)))
    wanted = [Part(0.3 * rng.normal(size=6), "contact", 0.5), Part(0.3 * rng.normal(size=3))]
    _, off, _ = problem._state(wanted)
    problem = LeastSquares(terms, -off, np.ones((3, 1)))
    guess = [
        Part(part.coefficients + 0.02 * rng.normal(size=len(part.coefficients)), part.effect, part.width)
        for part in wanted
    ]
    fitted = problem.fitted(guess)
    assert [len(part.coefficients) for part in fitted] == [6, 3]
    assert problem._state(fitted)[-1] < 1e-3 * problem._state(guess)[-1]
