"""A user's package with custom ops of Torch."""
