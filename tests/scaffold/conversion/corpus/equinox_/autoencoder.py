"""A convolutional autoencoder in equinox."""

import equinox as eqx
import jax
import jax.numpy as jnp


class ConvAutoencoder(eqx.Module):
    encoder: eqx.nn.Sequential
    to_latent: eqx.nn.Linear
    from_latent: eqx.nn.Linear
    decoder: eqx.nn.Sequential
    channels: int = eqx.field(static=True)

    def __init__(self, latent_dim: int, channels: int = 8, *, key):
        keys = jax.random.split(key, 6)
        self.channels = channels
        self.encoder = eqx.nn.Sequential(
            [
                eqx.nn.Conv2d(
                    1, channels, kernel_size=3, stride=2, padding=1, key=keys[0]
                ),
                eqx.nn.Lambda(jax.nn.relu),
                eqx.nn.Conv2d(
                    channels,
                    2 * channels,
                    kernel_size=3,
                    stride=2,
                    padding=1,
                    key=keys[1],
                ),
                eqx.nn.Lambda(jax.nn.relu),
            ]
        )
        self.to_latent = eqx.nn.Linear(2 * channels * 7 * 7, latent_dim, key=keys[2])
        self.from_latent = eqx.nn.Linear(latent_dim, 2 * channels * 7 * 7, key=keys[3])
        self.decoder = eqx.nn.Sequential(
            [
                eqx.nn.ConvTranspose2d(
                    2 * channels,
                    channels,
                    kernel_size=4,
                    stride=2,
                    padding=1,
                    key=keys[4],
                ),
                eqx.nn.Lambda(jax.nn.relu),
                eqx.nn.ConvTranspose2d(
                    channels, 1, kernel_size=4, stride=2, padding=1, key=keys[5]
                ),
                eqx.nn.Lambda(jax.nn.sigmoid),
            ]
        )

    def encode(self, x):
        h = self.encoder(x)
        return self.to_latent(jnp.ravel(h))

    def decode(self, z):
        h = jax.nn.relu(self.from_latent(z))
        h = h.reshape(2 * self.channels, 7, 7)
        return self.decoder(h)

    def __call__(self, x):
        return self.decode(self.encode(x))
