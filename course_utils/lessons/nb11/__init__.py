"""What notebook 11 alone uses."""
