# too many durations to keep: quantiles carry a mark and a footnote
kymo stats many.kymo
