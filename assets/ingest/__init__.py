"""Market days of a feed brought into the warehouse: fetch, keep, parse, judge, fold, report."""
