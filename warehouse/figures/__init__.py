"""Compute over rows: context, statistics, coarser rows, windows."""
