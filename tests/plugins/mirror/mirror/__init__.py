"""Functions of a package once more, in NumPy, for mlax-scaffold."""
