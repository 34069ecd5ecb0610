"""Rows as columns, and the rules that pick one of several versions."""
