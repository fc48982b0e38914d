# A trace of another tool, also if DuckDB itself would read such a file.
skip: DuckDB is not installed.*
kymo export rich.kymo -o run.json && kymo query run.json "SELECT count(*) AS ranges FROM 'run.json'"
