"""Looking at a model in Jupyter: `explore` with sliders, `play` for a trajectory. Needs the extra `notebooks`."""

from myoquat.core import missing_extra

try:
    import anywidget
    import ipywidgets
    import plotly
except ModuleNotFoundError as error:
    raise missing_extra(error) from None

from .explorer import Explorer, Player, explore, play

__all__ = ["Explorer", "Player", "explore", "play"]

_WIDGETS = anywidget, ipywidgets, plotly  # what the modules below stand on
