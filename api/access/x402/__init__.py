"""Take payments per call by x402, protocol versions 1 and 2, on the server side."""
