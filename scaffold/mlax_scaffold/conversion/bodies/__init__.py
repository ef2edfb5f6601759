"""What is computed: statements and calls in the order in which they run."""
