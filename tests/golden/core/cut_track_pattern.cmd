kymo cut both.kymo -o part.kymo --track 'serve/*' --to 50ms && kymo stats part.kymo --by thread
