exit: 1
kymo merge rich.kymo -o x.kymo; kymo merge rich.kymo rich.kymo -o x.kymo; kymo merge rich.kymo nothing.kymo -o x.kymo
