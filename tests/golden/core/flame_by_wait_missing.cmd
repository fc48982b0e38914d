# Nothing of the kind was recorded: why, and what to do.
kymo flame rich.kymo --by wait && kymo flame rich.kymo --by function
