from mlax_scaffold.spec import Decay, NonNegative, Optimizer, Scheduled, moment, zeros


class PID(Optimizer):
    """PID controller: the gradient, its integral (momentum), and its derivative

    v = alpha v - lr g; d = alpha d + (1 - alpha) (g - g_old); update = v + k_d d

    An et al., 2018, A PID Controller Approach for Stochastic Optimization of Deep
    Networks, CVPR.
    """

    learning_rate: Scheduled  #: step size
    alpha: Decay = 0.9  #: decay of integral and derivative
    k_d: NonNegative = 0.1  #: weight of the derivative

    def setup(self, param):
        self.v = moment(zeros, param.shape)
        self.d = moment(zeros, param.shape)
        self.old = moment(zeros, param.shape)

    def update(self, grad, param):
        self.v = self.alpha * self.v - self.learning_rate * grad
        self.d = self.alpha * self.d + (1 - self.alpha) * (grad - self.old)
        self.old = grad
        return self.v - self.k_d * self.d
