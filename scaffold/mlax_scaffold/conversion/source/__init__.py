"""A file of somebody's code, and what its names and libraries mean."""
