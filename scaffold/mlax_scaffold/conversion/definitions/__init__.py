"""A class of layers, or a function, as a definition of a spec."""
