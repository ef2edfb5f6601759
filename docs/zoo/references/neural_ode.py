"""Chen et al., 2018, arXiv:1806.07366, with the classical Runge-Kutta methods written out."""


def neural_ode(f, h, method="rk4", end=1.0, steps=10):
    """f: a function of the state."""
    dt = end / steps
    for _ in range(steps):
        k1 = f(h)
        if method == "euler":
            h = h + dt * k1
        elif method == "midpoint":
            h = h + dt * f(h + dt / 2 * k1)
        else:
            k2 = f(h + dt / 2 * k1)
            k3 = f(h + dt / 2 * k2)
            k4 = f(h + dt * k3)
            h = h + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return h
