# The message has the name of the output, not the one of the temporary file.
skip: DuckDB is not installed.*
exit: 1
(ulimit -f 8; kymo export many.kymo -o x.parquet); ls | grep ^x; false
