# A recording is not replaced by an export, whatever its name is.
exit: 1
cp lossy.kymo lossy.parquet; kymo export rich.kymo -o lossy.parquet; cmp lossy.kymo lossy.parquet && exit 1
