"""The dtype audit and the contracts that property tests of layers and optimizers call.

| module | holds |
|---|---|
| `audit` | which values of a traced function have a dtype they should not have |
| `case` | a layer with its hyperparameters and the shapes of its inputs |
| `layer`, `optimizer` | contracts: functions that raise AssertionError |
| `compare` | pytrees, compared to the rounding of a dtype |
| `dtypes` | the dtypes of the tests, 64-bit mode, strict promotion |
| `strategies`, `dims` | Hypothesis strategies for hyperparameters and shapes |
| `profiles` | Hypothesis profiles |

Importing the package imports none of them: they need jax or Hypothesis.
"""
