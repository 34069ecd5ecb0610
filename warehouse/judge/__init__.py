"""Validate rows, and check how complete and how late they are."""
