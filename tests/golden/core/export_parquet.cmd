skip: DuckDB is not installed.*
kymo export rich.kymo -o run.parquet && head -c 4 run.parquet && ls run.parquet*
