# ranges on threads and across threads are separate
kymo hist rich.kymo '*'
