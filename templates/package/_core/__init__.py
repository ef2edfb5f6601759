"""What every layer is built with: argument checks, array creation, static hyperparameters."""
