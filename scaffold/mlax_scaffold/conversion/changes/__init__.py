"""What is changed in place, as names that are bound anew."""
