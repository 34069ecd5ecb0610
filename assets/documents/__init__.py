"""The published documents: latest, brief, snapshot and the geo layers, their words, and their publication."""
