"""The networks of the VQ-VAE example of haiku."""

import haiku as hk
import jax
import jax.numpy as jnp


class ResidualStack(hk.Module):
    def __init__(
        self, num_hiddens, num_residual_layers, num_residual_hiddens, name=None
    ):
        super(ResidualStack, self).__init__(name=name)
        self._num_hiddens = num_hiddens
        self._num_residual_layers = num_residual_layers
        self._num_residual_hiddens = num_residual_hiddens

        self._layers = []
        for i in range(num_residual_layers):
            conv3 = hk.Conv2D(
                output_channels=num_residual_hiddens,
                kernel_shape=(3, 3),
                stride=(1, 1),
                name="res3x3_%d" % i,
            )
            conv1 = hk.Conv2D(
                output_channels=num_hiddens,
                kernel_shape=(1, 1),
                stride=(1, 1),
                name="res1x1_%d" % i,
            )
            self._layers.append((conv3, conv1))

    def __call__(self, inputs):
        h = inputs
        for conv3, conv1 in self._layers:
            conv3_out = conv3(jax.nn.relu(h))
            conv1_out = conv1(jax.nn.relu(conv3_out))
            h += conv1_out
        return jax.nn.relu(h)  # Resnet V1 style


class VQEncoder(hk.Module):
    def __init__(
        self, num_hiddens, num_residual_layers, num_residual_hiddens, name=None
    ):
        super(VQEncoder, self).__init__(name=name)
        self._num_hiddens = num_hiddens
        self._num_residual_layers = num_residual_layers
        self._num_residual_hiddens = num_residual_hiddens

        self._enc_1 = hk.Conv2D(
            output_channels=self._num_hiddens // 2,
            kernel_shape=(4, 4),
            stride=(2, 2),
            name="enc_1",
        )
        self._enc_2 = hk.Conv2D(
            output_channels=self._num_hiddens,
            kernel_shape=(4, 4),
            stride=(2, 2),
            name="enc_2",
        )
        self._enc_3 = hk.Conv2D(
            output_channels=self._num_hiddens,
            kernel_shape=(3, 3),
            stride=(1, 1),
            name="enc_3",
        )
        self._residual_stack = ResidualStack(
            self._num_hiddens, self._num_residual_layers, self._num_residual_hiddens
        )

    def __call__(self, x):
        h = jax.nn.relu(self._enc_1(x))
        h = jax.nn.relu(self._enc_2(h))
        h = jax.nn.relu(self._enc_3(h))
        return self._residual_stack(h)
