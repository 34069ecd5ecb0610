"""Serve the pages and descriptions of the service: HTML, llms.txt, the reference and the map."""
