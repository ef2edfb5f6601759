import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, mean, require, softmax, sum
from mlax_scaffold.specs.nn.linear import Linear


def iterative_pinv(a, iterations=6):
    """Moore-Penrose inverse of row-stochastic matrices by an iteration of third order.

    Razavi et al., 2014. Converges for the starting value of the paper (eq. 14).
    """
    identity = jnp.eye(a.shape[-1], dtype=a.dtype)
    rows = jnp.max(sum(jnp.abs(a), axis=-1))
    columns = jnp.max(sum(jnp.abs(a), axis=-2))
    z = jnp.swapaxes(a, -1, -2) / (rows * columns)
    for _ in range(iterations):
        az = a @ z
        z = 0.25 * z @ (13 * identity - az @ (15 * identity - az @ (7 * identity - az)))
    return z


class NystromAttention(Layer):
    """Self-attention approximated by the Nyström method with segment means as landmarks.

    Xiong et al., 2021, Nyströmformer: A Nyström-Based Algorithm for Approximating
    Self-Attention, arXiv:2102.03902.
    """

    features: Size  #: size of the last axis
    num_heads: Size  #: number of heads
    num_landmarks: Size  #: must divide the length
    iterations: Size = 6  #: of the pseudo-inverse

    def setup(self):
        require(self.features % self.num_heads == 0, "num_heads must divide features")
        self.head_dim = self.features // self.num_heads
        self.qkv = Linear(self.features, 3 * self.features)
        self.out = Linear(self.features, self.features)

    def landmarks(self, x):
        batch, heads, length, dim = x.shape
        segments = x.reshape(batch, heads, self.num_landmarks, -1, dim)
        return mean(segments, axis=3)

    def forward(self, x: Float["batch length features"]) -> Float["batch length features"]:
        batch, length, _ = x.shape
        require(length % self.num_landmarks == 0, "num_landmarks must divide the length")
        qkv = self.qkv(x).reshape(batch, length, 3, self.num_heads, self.head_dim)
        q, k, v = jnp.moveaxis(qkv, (2, 3), (0, 2))
        q = q / self.head_dim**0.5
        q_l, k_l = self.landmarks(q), self.landmarks(k)
        kernel_1 = softmax(q @ k_l.swapaxes(-1, -2), axis=-1)
        kernel_2 = softmax(q_l @ k_l.swapaxes(-1, -2), axis=-1)
        kernel_3 = softmax(q_l @ k.swapaxes(-1, -2), axis=-1)
        y = kernel_1 @ iterative_pinv(kernel_2, self.iterations) @ (kernel_3 @ v)
        return self.out(y.transpose(0, 2, 1, 3).reshape(x.shape))
