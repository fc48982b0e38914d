# All columns, also of ranges across threads and without an end.
skip: DuckDB is not installed.*
kymo query rich.kymo "SELECT * FROM ranges WHERE name IN ('request', 'save checkpoint') OR NOT finished ORDER BY start_ns" --json
