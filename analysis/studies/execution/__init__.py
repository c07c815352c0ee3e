"""Computing the blocks of a study, in threads of this process or on a cluster."""
