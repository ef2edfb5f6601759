"""Calls of other libraries as what they are called here: tables, and what their rows compute."""
