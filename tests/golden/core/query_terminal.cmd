# The last column is cut to the width of the terminal.
terminal: 60
skip: DuckDB is not installed.*
kymo query hostile.kymo 'SELECT duration_ns, thread, name FROM ranges ORDER BY start_ns'
