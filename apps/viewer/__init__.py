"""The viewer: a model, its muscles and its motions in a browser or in Jupyter. Needs the extra `view`."""

from myoquat.apps.viewer.filming import FilmOptions, film
from myoquat.apps.viewer.window import Viewer, view

__all__ = ["FilmOptions", "Viewer", "film", "view"]
