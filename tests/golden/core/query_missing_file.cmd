exit: 1
skip: DuckDB is not installed.*
kymo query nosuch.kymo 'SELECT 1'
