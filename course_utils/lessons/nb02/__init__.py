"""What notebook 02 alone uses."""

from course_utils import late_names

__dir__, __getattr__ = late_names(
    __name__,
    {
        "figures": "draw_bathtub draw_falling_scale draw_loss_scale draw_step",
        "gradients": "largest_gradient",
        "models": "autoencoder segmenter squares",
    },
)
