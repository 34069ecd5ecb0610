"""What is believed of rows, and how whole and how late they are."""
