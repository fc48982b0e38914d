exit: 1
skip: DuckDB is not installed.*
kymo query rich.kymo "COPY ranges TO 'out.csv'"; code=$?; ls out.csv 2>/dev/null; exit $code
