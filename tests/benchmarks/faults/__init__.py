"""Faults that are planted into generated code, to see whether the generated tests catch them."""
