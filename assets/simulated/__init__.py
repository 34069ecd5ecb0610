"""The same wire formats as the publishers, written from a model grid: the transport of a simulated warehouse."""
