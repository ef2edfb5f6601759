"""Lists and dictionaries of layers in their many forms, as the few that are read."""
