from mlax_scaffold.spec import Float, Probability, function, running_sum


@function
def ema(
    old: Float["..."],
    new: Float["..."],
    dither: Float[""] | None = None,
    *,
    decay: Probability,  #: weight of the old value
) -> Float["..."]:
    """Exponential moving average: decay * old + (1 - decay) * new.

    As old + ((1 - decay) * new - (1 - decay) * old): a decay near one, such as 0.999, is
    not a number of 16 bits, but its complement is near one. A decay below a half weighs
    the old value likewise. No difference overflows, of whatever numbers.

    In 16 bits, a step below half a unit in the last place is lost to rounding: with a
    decay of 0.999 an average in bfloat16 never falls. With a `dither`, a number in
    [0, 1) that is another one in each step, the sum is rounded up or down in proportion
    to what is lost, so that the average follows. Wider dtypes ignore it.
    """
    if (decay < 0.5) is True:  # One that is an array may be any.
        return new + (decay * old - decay * new)
    change = (1.0 - decay) * new - (1.0 - decay) * old
    return running_sum(old, change, dither)
