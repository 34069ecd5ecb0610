"""Share functions among parsers: bodies, columns, time stamps, clocks, days, totals. They only use bytes and values."""
