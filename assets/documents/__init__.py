"""Compute, word and publish the documents: latest, brief, snapshot and the geo layers."""
