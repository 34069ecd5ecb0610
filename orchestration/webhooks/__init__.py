"""Create, sign and deliver webhook messages."""
