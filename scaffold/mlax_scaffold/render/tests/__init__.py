"""Generated tests."""
