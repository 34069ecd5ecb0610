"""Represent rows as columns, and select one of several versions of a row."""
