"""What is known of values: arrays by their axes, numbers, and structures of them."""
