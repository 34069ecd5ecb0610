"""Programs that write pages of docs/ from the code; the service imports none of them."""
