"""Reference pages."""
