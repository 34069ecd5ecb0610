"""What parsers share: bodies, columns, time stamps, clocks, days, totals. Pure functions of bytes and values."""
