# DuckDB's message, and exit code 1; the second statement does not run.
exit: 1
skip: DuckDB is not installed.*
kymo query rich.kymo 'SELECT nam FROM ranges; SELECT 1'
