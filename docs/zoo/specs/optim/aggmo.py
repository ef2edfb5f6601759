from mlax_scaffold.spec import Decay, Optimizer, Scheduled, moment, zeros


class AggMo(Optimizer):
    """Aggregated momentum: the mean of several momentum methods with different damping.

    v_i = beta_i v_i - g; update = lr / K sum_i v_i

    Lucas et al., 2019, Aggregated Momentum: Stability Through Passive Damping,
    arXiv:1804.00325.
    """

    learning_rate: Scheduled  #: step size
    betas: tuple[Decay, ...] = (0.0, 0.9, 0.99)  #: the damping coefficients

    def setup(self, param):
        self.velocities = [moment(zeros, param.shape) for _ in self.betas]

    def update(self, grad, param):
        self.velocities = [
            beta * v - grad for beta, v in zip(self.betas, self.velocities)
        ]
        return self.learning_rate * sum(self.velocities) / len(self.betas)
