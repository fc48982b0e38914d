# Texts are cut where a row would not fit, numbers are not.
terminal: 76
skip: DuckDB is not installed.*
kymo query hostile.kymo 'SELECT name, category, thread, duration_ns, start_ns FROM ranges ORDER BY start_ns'
