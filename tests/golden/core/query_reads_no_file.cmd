exit: 1
skip: DuckDB is not installed.*
kymo query rich.kymo "SELECT * FROM read_text('/etc/hostname')"
