# numbers that depend on the compressor are masked
mask: (?<="file_size": )[0-9]+
mask: (?<="bytes": )[0-9]+
mask: (?<="bytes_per_event": )[0-9.]+
kymo info rich.kymo --json
