"""Who may have an answer, and at what price: samples, keys, rate limits, payments. No Flask here."""
