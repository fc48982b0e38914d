# One word that is not a file is a statement.
exit: 1
skip: DuckDB is not installed.*
kymo query rich.kymo selec
