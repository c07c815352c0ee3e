"""Pictures of states without a browser, as the viewer draws them."""

import numpy as np

from myoquat.apps.viewer.frame_cache import frames
from myoquat.apps.viewer.offscreen import Colored, Painter
from myoquat.apps.viewer.opening import opened
from myoquat.core.typing import Array
from myoquat.muscle.model import Model

__all__ = ["Pictures"]

WIDTH, HEIGHT = 480, 480


class Pictures:
    """Pictures (HEIGHT, WIDTH, 3) of a model, its muscles coloured by activation."""

    def __init__(self, model: Model) -> None:
        scene, _, _ = opened(model, (), (), None, (), None)
        self._model, self._painter = model, Painter(scene, WIDTH, HEIGHT)

    def of(self, q: Array, activation: Array) -> list[Array]:
        """A picture of each pose q (n, nq) with activations (n, m), or (n, 0) where they are not known."""
        unknown = np.full((len(q), len(self._model.muscles)), np.nan)
        shown = activation if activation.shape[-1] else unknown
        return [
            self._painter.picture(frame, Colored(values, 0.0, 1.0, np.full(len(values), np.nan)))
            for frame, values in zip(frames(self._model, q), shown, strict=True)
        ]
