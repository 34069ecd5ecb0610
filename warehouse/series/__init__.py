"""Store series: monthly files, their history, the raw archive and the change log."""
