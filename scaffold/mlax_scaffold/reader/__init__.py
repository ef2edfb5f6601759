"""Reads the text of specs into the model. Nothing of a spec is executed."""
