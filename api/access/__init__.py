"""Decide who may have a response, and at what price: samples, keys, rate limits, payments. This needs no Flask."""
