"""Published documents as one worker holds them, and what the catalogue says. No Flask here."""
