exit: 1
mask: Did you mean.*
skip: DuckDB is not installed.*
kymo query rich.kymo 'SELECT * FROM spans'
