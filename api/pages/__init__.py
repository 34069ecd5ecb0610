"""The pages and descriptions of the service itself: HTML, llms.txt, the reference, the map."""
