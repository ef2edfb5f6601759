"""Public names of other libraries, and what stands for them here."""
