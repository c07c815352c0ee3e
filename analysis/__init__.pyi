from . import (
    comparison as comparison,
    control as control,
    fits as fits,
    mapping as mapping,
    motion as motion,
    recruitment as recruitment,
    studies as studies,
)
from .comparison import ModelComparison as ModelComparison, compare_models as compare_models
from .mapping import MappingReport as MappingReport, mapping_analysis as mapping_analysis
from .motion.gait import plot_cycles as plot_cycles
from .recruitment.figures import (
    plot_activations as plot_activations,
    plot_curves as plot_curves,
    plot_lengths as plot_lengths,
    plot_loads as plot_loads,
    plot_moment_arms as plot_moment_arms,
    plot_socket as plot_socket,
    plot_tensions as plot_tensions,
)
from .studies import Study as Study, open_results as open_results
