"""What classes are handed, layers, functions and settings, written where it is used."""
