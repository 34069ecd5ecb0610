"""Define the market's values: zones, metrics, feeds, and its time."""
