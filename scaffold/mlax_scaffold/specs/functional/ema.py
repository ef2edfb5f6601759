from mlax_scaffold.spec import Float, Probability, function


@function
def ema(
    old: Float["..."],
    new: Float["..."],
    *,
    decay: Probability,  #: weight of the old value
) -> Float["..."]:
    """Exponential moving average: decay * old + (1 - decay) * new.

    As old + (1 - decay) * (new - old): a decay near one, such as 0.999, is not a number
    of 16 bits, but its complement is near one.
    """
    return old + (1.0 - decay) * (new - old)
