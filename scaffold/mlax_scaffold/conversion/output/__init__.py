"""What a spec is to say, and how it is printed."""
