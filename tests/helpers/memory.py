"""What a training step keeps, as the explorer DoesItPay counts it."""


def parts(counts, batch, bits):
    """Bytes that a step with Adam keeps, by part, in 32 bits or under a policy of 16."""
    trainable = counts.copies + counts.singles
    return {
        "weights": 4 * trainable,
        "copies": 2 * counts.copies if bits == 16 else 0,
        "gradients": 4 * trainable,
        "optimizer": 8 * trainable,
        "activations": batch * (counts.activations * bits // 8 + 4 * counts.logits),
    }


def share_saved(counts, batch):
    """What part of float32's memory 16 bits save; below zero if they cost memory."""
    whole, half = (sum(parts(counts, batch, bits).values()) for bits in (32, 16))
    return 1 - half / whole
