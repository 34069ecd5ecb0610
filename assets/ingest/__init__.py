"""Bring market days of a feed into the warehouse: fetch, store, parse, validate, merge and report."""
