"""The viewer: a model, its muscles and its motions in a browser or in Jupyter. Needs the extra `view`."""

from myoquat.analysis.apps.viewer.filming import FilmOptions, film
from myoquat.analysis.apps.viewer.window import Viewer, view

__all__ = ["FilmOptions", "Viewer", "film", "view"]
