"""mlax-scaffold: from a small spec to a complete, tested, documented JAX layer."""
