"""A project on disk: its settings, its specs, what follows from them, and how that is tried."""
