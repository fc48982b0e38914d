exit: 2
skip: DuckDB is not installed.*
kymo export rich.kymo -o run.parquet --table spans
