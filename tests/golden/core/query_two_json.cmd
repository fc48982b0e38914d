# One JSON document: a statement without rows may come before, a second result may not.
exit: 2
skip: DuckDB is not installed.*
kymo query rich.kymo 'CREATE TABLE t AS SELECT 7 AS x; SELECT x FROM t; SELECT 2' --json
