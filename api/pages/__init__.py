"""The pages and descriptions of the service itself: HTML, llms.txt, OpenAPI, the map, health."""
