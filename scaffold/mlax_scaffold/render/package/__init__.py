"""The generated package: a module for each definition."""
