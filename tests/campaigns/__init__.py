"""Stories over the whole pipeline: outages, kills and faults, each with what readers see of them."""
