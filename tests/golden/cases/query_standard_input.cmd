# Without a statement, standard input has them.
skip: DuckDB is not installed.*
printf 'SELECT 1 AS a;\nSELECT\n  2 AS b;\nexit\nSELECT 3' | kymo query rich.kymo --csv
