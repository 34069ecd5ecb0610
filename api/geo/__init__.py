"""The geo layers: parameters, filters and slices of their files. No Flask here."""
