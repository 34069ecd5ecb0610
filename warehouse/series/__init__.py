"""The series store: month files, their history, kept bodies, the change log."""
