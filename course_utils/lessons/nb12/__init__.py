"""What notebook 12 alone uses."""
