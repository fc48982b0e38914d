exit: 1
kymo path empty.kymo; kymo path rich.kymo --what-if gemm; kymo path rich.kymo --iteration 1000; kymo path rich.kymo -o x.bmp; kymo path nothing.kymo
