"""Stack memory of kernels: slots, their lifetimes and their allocation."""
