# What cannot be read is reported after the result.
exit: 3
skip: DuckDB is not installed.*
kymo query damaged.kymo 'SELECT count(*) AS ranges FROM ranges' --strict
