"""Define the Dagster assets as a thin layer: `assets.sources` parses, and `warehouse` stores the files."""
