"""Write pages of docs/ from the code. The service does not import these programs."""
