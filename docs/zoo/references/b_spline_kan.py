"""Liu et al., 2024, arXiv:2404.19756, equations 2.10 to 2.12, with the recursion of Cox and de Boor."""

import numpy as np

from .common import sigmoid


def b_spline_kan(x, base, coefficients, grid_size=5, order=3):
    """x: (batch, inputs); coefficients: (inputs, splines, outputs); on the interval [-1, 1]."""
    width = 2 / grid_size
    knots = [-1 + width * i for i in range(-order, grid_size + order + 1)]
    result = (x * sigmoid(x)) @ base
    for row, point in enumerate(x):
        for i, value in enumerate(point):
            splines = [spline(knots, n, order, value) for n in range(grid_size + order)]
            result[row] += np.array(splines) @ coefficients[i]
    return result


def spline(knots, number, order, x):
    if order == 0:
        return float(knots[number] <= x < knots[number + 1])
    here, end = knots[number], knots[number + order]
    after, last = knots[number + 1], knots[number + order + 1]
    left = (x - here) / (end - here) * spline(knots, number, order - 1, x)
    right = (last - x) / (last - after) * spline(knots, number + 1, order - 1, x)
    return left + right
