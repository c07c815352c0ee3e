"""The viewer: a model, its muscles and its motions in a browser or in Jupyter. Needs the extra `view`."""

from .films import FilmOptions, film
from .window import Viewer, view

__all__ = ["FilmOptions", "Viewer", "film", "view"]
