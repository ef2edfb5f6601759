"""What the definitions of the zoo compute, from their papers, in float64 NumPy.

One module for each, with a function of its name. Weights are arguments: arrays by the
names that they have in the paper, and for an affine map a pair (kernel, bias). Nothing
here comes from mlax-scaffold or what it generates.
"""
