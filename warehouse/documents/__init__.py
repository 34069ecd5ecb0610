"""Published documents: manifest, catalogue, health, attempts."""
