from mlax_scaffold.spec import Positive, Probability, Schedule, Size, require
from mlax_scaffold.specs.schedule.piecewise_interpolated import PiecewiseInterpolated


class LinearOneCycle(Schedule):
    """A line up to `peak_value`, one down to where it began, and one far below that.

    It begins at peak / div, reaches the peak after the fraction `pct_start` of the steps
    and its first value again after `pct_final`, and ends at peak / (div * final_div).

    Smith & Topin, 2017, arXiv:1708.07120. As linear_onecycle_schedule of optax.
    """

    transition_steps: Size  #: number of steps of the cycle
    peak_value: float  #: the greatest value
    pct_start: Probability = 0.3  #: fraction of the steps in which the value rises
    pct_final: Probability = 0.85  #: fraction of the steps until the last line
    div_factor: Positive = 25.0  #: the peak, as a multiple of the first value
    final_div_factor: Positive = 1e4  #: the first value, as a multiple of the last

    def setup(self):
        rise = int(self.pct_start * self.transition_steps)
        fall = int(self.pct_final * self.transition_steps)
        require(
            0 < rise < fall < self.transition_steps,
            "0 < pct_start < pct_final < 1, with a step for each line",
        )

    def value(self, step, step_number):
        rise = int(self.pct_start * self.transition_steps)
        fall = int(self.pct_final * self.transition_steps)
        return PiecewiseInterpolated(
            "linear",
            self.peak_value / self.div_factor,
            (rise, fall, self.transition_steps),
            (self.div_factor, 1.0 / self.div_factor, 1.0 / self.final_div_factor),
        )(step_number)
