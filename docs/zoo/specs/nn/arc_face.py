import math

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Layer, NonNegative, Positive, Size, glorot_normal, l2_normalize, trainable


class ArcFace(Layer):
    """Additive angular margin head: s cos(theta + m) for the class of the label.

    Deng et al., 2019, ArcFace: Additive Angular Margin Loss for Deep Face Recognition,
    arXiv:1801.07698.
    """

    features: Size  #: size of the embeddings
    classes: Size  #: number of identities
    margin: NonNegative = 0.5  #: m, in radians
    scale: Positive = 64.0  #: s

    def setup(self):
        self.weight = trainable(glorot_normal(), (self.features, self.classes))
        self.cos_m = math.cos(self.margin)
        self.sin_m = math.sin(self.margin)
        self.threshold = math.cos(math.pi - self.margin)

    def forward(
        self, embeddings: Float["batch features"], labels: Int["batch"] | None = None
    ) -> Float["batch classes"]:
        cosine = l2_normalize(embeddings, axis=-1) @ l2_normalize(self.weight, axis=0)
        if labels is None:
            return self.scale * cosine
        sine = jnp.sqrt(jnp.clip(1.0 - cosine**2, 0.0, 1.0))
        phi = cosine * self.cos_m - sine * self.sin_m
        phi = jnp.where(cosine > self.threshold, phi, cosine - self.margin * self.sin_m)
        one_hot = jax.nn.one_hot(labels, self.classes, dtype=embeddings.dtype)
        return self.scale * (one_hot * phi + (1 - one_hot) * cosine)
