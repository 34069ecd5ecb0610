"""Flask views, one module for each group of paths. What they read from is in the packages beside this one."""
