"""Models that MuJoCo has compiled, as documents."""
