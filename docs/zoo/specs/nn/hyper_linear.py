import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, normal, trainable, zeros


class HyperLinear(Layer):
    """Linear layer whose kernel a two-layer hypernetwork makes of a learned embedding.

    Ha, Dai & Le, 2017, HyperNetworks, arXiv:1609.09106, section 3.1 (static
    hypernetworks): each row i of the kernel is K_i = W_out (W_i z + B_i) + B_out.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    embedding_size: Size = 4  #: size of the embedding z
    hidden: Size = 4  #: size of the hidden layer of the hypernetwork

    def setup(self):
        self.z = trainable(normal(0.01), (self.embedding_size,))
        self.W = trainable(
            normal(0.01), (self.in_features, self.hidden, self.embedding_size)
        )
        self.B = trainable(zeros, (self.in_features, self.hidden))
        self.W_out = trainable(normal(0.01), (self.out_features, self.hidden))
        self.B_out = trainable(zeros, (self.out_features,))

    def kernel(self):
        a = jnp.einsum("ihe,e->ih", self.W, self.z) + self.B
        return a @ self.W_out.T + self.B_out

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        return x @ self.kernel()
