kymo flame rich.kymo
