# Without a statement, standard input has them.
skip: DuckDB is not installed.*
printf 'SELECT 1 AS a;\nSELECT\n  2 AS b;\nSELECT 3 AS c' | kymo query rich.kymo --csv
