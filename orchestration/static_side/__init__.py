"""The free documents as files that any web server or CDN can serve: rendered, compressed, put, swapped in."""
