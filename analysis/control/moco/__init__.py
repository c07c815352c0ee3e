"""Problems of OpenSim Moco, .omoco, as problems here: one file for each part of a study."""
