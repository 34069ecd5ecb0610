"""Publish documents: manifest, catalogue, health and fetch attempts."""
