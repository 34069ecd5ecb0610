"""Software-defined assets and what feeds them; thin: parsing is in `assets.sources`, files are in `warehouse`."""
