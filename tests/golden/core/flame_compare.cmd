# Both times of each path; what is new has 0 before.
kymo flame both.kymo --compare rich.kymo; kymo flame both.kymo --compare rich.kymo --json | head -40
