"""Published experiments, computed again from their recordings and compared with measurements."""
