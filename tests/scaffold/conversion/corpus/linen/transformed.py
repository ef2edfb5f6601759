"""Two towers over sets: transformations of one class, under names of their own."""

import flax.linen as nn
import jax.numpy as jnp


class SetEncoder(nn.Module):
    """Encodes one set of elements."""

    width: int = 8
    dropout_rate: float = 0.1

    @nn.compact
    def __call__(self, elements, train: bool = False):
        h = nn.gelu(nn.Dense(self.width, name="inner")(elements))
        h = nn.Dropout(self.dropout_rate, deterministic=not train)(h)
        return nn.Dense(self.width, name="outer")(h) / elements.shape[0]


class Score(nn.Module):
    """Scores a pair."""

    width: int = 8

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.relu(nn.Dense(self.width)(x)))


SetEncoders = nn.vmap(
    SetEncoder,
    in_axes=(0, None),
    variable_axes={"params": None},
    split_rngs={"params": False, "dropout": True},
)
SavingScore = nn.remat(Score)
Scores = nn.vmap(
    SavingScore,
    in_axes=None,
    out_axes=-1,
    axis_size=2,
    variable_axes={"params": 0},
    split_rngs={"params": True},
)


class PairScorer(nn.Module):
    """Scores pairs of sets, twice."""

    width: int = 8

    @nn.compact
    def __call__(self, first, second, train: bool = False):
        encode = SetEncoders(self.width)
        pair = jnp.concatenate([encode(first, train), encode(second, train)], -1)
        return Scores(self.width)(pair)
