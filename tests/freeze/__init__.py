"""What a release promised: signatures, names of weights, numbers, files of a project and of a checkpoint."""
