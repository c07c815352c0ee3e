from .mapping import MappingReport as MappingReport
from .mapping import mapping_analysis as mapping_analysis
from .muscles.curves import plot_curves as plot_curves
from .studies import Study as Study
from .studies import open_results as open_results
from .viewer import Viewer as Viewer
from .viewer import view as view
