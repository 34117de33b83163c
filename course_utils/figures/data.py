"""What the data look like."""

from course_utils.figures.base import INK, Picture, canvas


def digits(images, labels, count: int = 10) -> Picture:
    """The first digits of a set in a row, each under its label.

    Args:
        images: uint8 array of shape (n, 28, 28).
        labels: n labels.
        count: how many to show.
    """
    figure, axes = canvas(count, width=8.0, height=1.3, squeeze=False)
    for ax, image, label in zip(axes[0], images, labels, strict=False):
        ax.imshow(image, cmap="gray")
        ax.set_axis_off()
        ax.set_title(str(label), color=INK)
    shown = ", ".join(str(label) for label in labels[:count])
    return Picture(figure, f"handwritten digits, white on black: {shown}.")
