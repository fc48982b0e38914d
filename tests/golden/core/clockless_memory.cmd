exit: 3
kymo memory clockless.kymo --strict
