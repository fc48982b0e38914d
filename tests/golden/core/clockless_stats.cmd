exit: 3
kymo stats clockless.kymo --strict
