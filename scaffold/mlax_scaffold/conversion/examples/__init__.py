"""Values that fit each other, which tests draw, and the original can be run with."""
