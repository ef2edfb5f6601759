from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.linear import Linear


class FiLM(Layer):
    """Feature-wise linear modulation: y = (1 + gamma(z)) * x + beta(z).

    Perez et al., 2018, FiLM: Visual Reasoning with a General Conditioning Layer,
    arXiv:1709.07871. The scale is predicted as a difference from one, as in their code.
    """

    features: Size  #: number of channels of x
    conditioning: Size  #: size of the vector that x is conditioned on

    def setup(self):
        self.gamma = Linear(self.conditioning, self.features)
        self.beta = Linear(self.conditioning, self.features)

    def forward(
        self, x: Float["batch height width features"], z: Float["batch conditioning"]
    ) -> Float["batch height width features"]:
        gamma = self.gamma(z)[:, None, None, :]
        beta = self.beta(z)[:, None, None, :]
        return (1 + gamma) * x + beta
