from mlax_scaffold.spec import (
    Float,
    Initializer,
    Layer,
    Positive,
    Precision,
    Size,
    he_uniform,
    lecun_normal,
    zeros,
)
from mlax_scaffold.specs.nn.linear import Linear
from mlax_scaffold.specs.nn.lo_ra import LoRA


class LoRALinear(Layer):
    """Linear with a map of low rank added: y = x W + b + x A B * alpha / rank.

    Hu et al., 2021, arXiv:2106.09685. The weights of a trained Linear take the place of
    `trainables.linear`; that these stay is for the optimizer to see to.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    rank: Size  #: rank of the map that is added
    alpha: Positive | None = None  #: that map is scaled by alpha / rank; None: by 1
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    kernel_initializer: Initializer = lecun_normal()  #: of the kernel
    bias_initializer: Initializer = zeros  #: of the bias
    down_initializer: Initializer = he_uniform()  #: of A
    up_initializer: Initializer = zeros  #: of B

    def setup(self):
        self.linear = Linear(
            self.in_features,
            self.out_features,
            self.use_bias,
            self.precision,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
        )
        self.lora = LoRA(
            self.in_features,
            self.out_features,
            self.rank,
            self.alpha,
            self.precision,
            down_initializer=self.down_initializer,
            up_initializer=self.up_initializer,
        )

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        return self.linear(x) + self.lora(x)
