"""Looking at a model in Jupyter: `explore` with sliders, `play` for a trajectory. Needs the extra `notebooks`."""

try:
    import anywidget
    import ipywidgets
    import plotly
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: the explorer needs the extra myoquat[notebooks]", name=error.name) from None

from myoquat.analysis.explore.explorer import Explorer, explore
from myoquat.analysis.explore.player import Player, play

__all__ = ["Explorer", "Player", "explore", "play"]

_WIDGETS = anywidget, ipywidgets, plotly  # what the modules below stand on
