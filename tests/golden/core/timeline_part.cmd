kymo timeline rich.kymo --from 40ms --to 90ms --track main
