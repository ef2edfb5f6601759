"""Other forms of the same code, as the one that is read."""
