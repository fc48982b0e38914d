# on a terminal the headings are dimmed and names are cut to its width
terminal: 90
kymo stats hostile.kymo
