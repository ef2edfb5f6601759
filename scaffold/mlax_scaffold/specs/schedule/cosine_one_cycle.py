from mlax_scaffold.spec import Positive, Probability, Schedule, Size, require
from mlax_scaffold.specs.schedule.piecewise_interpolated import PiecewiseInterpolated


class CosineOneCycle(Schedule):
    """Half a cosine up to `peak_value`, and another one down, far below where it began.

    It begins at peak / div, reaches the peak after the fraction `pct_start` of the steps,
    and ends at peak / (div * final_div).

    Smith & Topin, 2017, arXiv:1708.07120. As cosine_onecycle_schedule of optax.
    """

    transition_steps: Size  #: number of steps of the cycle
    peak_value: float  #: the greatest value
    pct_start: Probability = 0.3  #: fraction of the steps in which the value rises
    div_factor: Positive = 25.0  #: the peak, as a multiple of the first value
    final_div_factor: Positive = 1e4  #: the first value, as a multiple of the last

    def setup(self):
        rise = int(self.pct_start * self.transition_steps)
        require(
            0 < rise < self.transition_steps,
            "pct_start must leave a step to rise, and one to fall",
        )

    def value(self, step, step_number):
        rise = int(self.pct_start * self.transition_steps)
        return PiecewiseInterpolated(
            "cosine",
            self.peak_value / self.div_factor,
            (rise, self.transition_steps),
            (self.div_factor, 1.0 / (self.div_factor * self.final_div_factor)),
        )(step_number)
