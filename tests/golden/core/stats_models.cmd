# devices of the same model have separate rows, with their ids
kymo stats models.kymo --by thread
