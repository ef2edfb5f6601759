"""Module classes and the package that holds them."""
