import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, zeros
from mlax_scaffold.specs.nn.linear import Linear


def affine_grid(theta, height, width):
    """Coordinates in [-1, 1] that each pixel of the output is sampled at."""
    ys, xs = jnp.meshgrid(
        jnp.linspace(-1.0, 1.0, height), jnp.linspace(-1.0, 1.0, width), indexing="ij"
    )
    base = jnp.stack([xs, ys, jnp.ones_like(xs)], axis=-1)
    return jnp.einsum("hwk,ck->hwc", base, theta)


def bilinear_sample(image, grid):
    """Samples an image (height, width, channels) at places; outside it is zero."""
    height, width, _ = image.shape
    x = (grid[..., 0] + 1) * (width - 1) / 2
    y = (grid[..., 1] + 1) * (height - 1) / 2
    x0, y0 = jnp.floor(x), jnp.floor(y)

    def at(yi, xi):
        inside = (xi >= 0) & (xi < width) & (yi >= 0) & (yi < height)
        rows = jnp.clip(yi, 0, height - 1).astype(int)
        columns = jnp.clip(xi, 0, width - 1).astype(int)
        return jnp.where(inside[..., None], image[rows, columns], 0.0)

    wx, wy = (x - x0)[..., None], (y - y0)[..., None]
    top = at(y0, x0) * (1 - wx) + at(y0, x0 + 1) * wx
    bottom = at(y0 + 1, x0) * (1 - wx) + at(y0 + 1, x0 + 1) * wx
    return top * (1 - wy) + bottom * wy


def identity_bias(key, shape, dtype=jnp.float32):
    return jnp.array([1, 0, 0, 0, 1, 0], dtype)


class SpatialTransformer(Layer):
    """Spatial transformer: a localisation network chooses an affine map of the image.

    Jaderberg et al., 2015, Spatial Transformer Networks, arXiv:1506.02025. The last layer
    starts as the identity.
    """

    height: Size  #: height of images
    width: Size  #: width of images
    channels: Size  #: channels of images
    hidden: Size = 32  #: width of the localisation network

    def setup(self):
        self.hidden_layer = Linear(self.height * self.width * self.channels, self.hidden)
        self.theta = Linear(
            self.hidden, 6, kernel_initializer=zeros, bias_initializer=identity_bias
        )

    def forward(
        self, images: Float["batch height width channels"]
    ) -> Float["batch height width channels"]:
        flat = images.reshape(images.shape[0], -1)
        theta = self.theta(jnp.tanh(self.hidden_layer(flat))).reshape(-1, 2, 3)
        grids = jax.vmap(lambda t: affine_grid(t, self.height, self.width))(theta)
        return jax.vmap(bilinear_sample)(images, grids)
