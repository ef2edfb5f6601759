import jax.numpy as jnp

from mlax_scaffold.spec import Block, Float, Literal, SubLayer


class Bidirectional(Block):
    """Two recurrent layers, one of them from the end to the beginning.

    Schuster & Paliwal, 1997, IEEE Transactions on Signal Processing 45(11).
    """

    ahead: SubLayer  #: an initialized layer over sequences, such as Recurrent
    back: SubLayer  #: another one, which sees time reversed
    #: how the two results become one
    merge: Literal["concatenate", "add", "multiply", "average"] = "concatenate"
    time_major: bool = False  #: whether time is the first axis, else the last but one

    def forward(
        self,
        x: Float["time *batch features if time_major else *batch time features"],
    ) -> Float["..."]:
        axis = 0 if self.time_major else x.ndim - 2
        y = self.ahead(x)
        z = jnp.flip(self.back(jnp.flip(x, axis)), axis)
        if self.merge == "concatenate":
            return jnp.concatenate([y, z], -1)
        if self.merge == "multiply":
            return y * z
        return y + z if self.merge == "add" else 0.5 * (y + z)
