"""Results of studies in memory and on disk, their description, checksums and locks."""
