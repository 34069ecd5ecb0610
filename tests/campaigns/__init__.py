"""Run campaigns over the whole pipeline (outages, kills and faults), each with its effects for readers."""
