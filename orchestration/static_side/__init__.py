"""Publish the free documents as files for any web server or CDN: render, compress, write, swap in."""
