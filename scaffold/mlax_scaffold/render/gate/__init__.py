"""What generated code may hold."""
