"""Ganea, Bécigneul & Hofmann, 2018, arXiv:1805.09112, equations 4, 12 and 27."""

import numpy as np


def poincare_linear(x, M, b, c=1.0):
    """x: one point (in,) within the ball; M: (in, out); b: (out,) in the tangent space of the origin."""
    root = np.sqrt(c)
    limit = (1 - 1e-3) / root

    def project(p):
        size = np.linalg.norm(p)
        return p / size * limit if size > limit else p

    def exp0(v):
        size = np.linalg.norm(v)
        return np.tanh(root * size) * v / (root * size) if size else v

    def log0(p):
        size = np.linalg.norm(p)
        return np.arctanh(root * size) * p / (root * size) if size else p

    def add(p, q):
        pq, pp, qq = p @ q, p @ p, q @ q
        top = (1 + 2 * c * pq + c * qq) * p + (1 - c * pp) * q
        return top / (1 + 2 * c * pq + c * c * pp * qq)

    return project(add(exp0(log0(project(x)) @ M), exp0(b)))
