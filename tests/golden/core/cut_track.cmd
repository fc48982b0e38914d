# the ends of ranges across threads that begin on the track are kept
kymo cut rich.kymo -o part.kymo --track worker && kymo stats part.kymo && kymo info part.kymo
