"""Published documents as one worker holds them, what the catalogue says, freshness, and `/metrics`. No Flask here."""
