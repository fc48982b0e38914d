# headers from folders, a function constant, and a library of translated kernels
mkdir -p include/shapes
echo '#include "sides.h"' > include/shapes/shapes.h
echo '#define SIDES 3' > include/shapes/sides.h
cat > area.metal <<END
  #include <shapes/shapes.h>
constant int factor [[function_constant(0)]];
kernel void area(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= SIDES * factor; }
END
kymo shader area.metal -I include -C factor=14 --to opencl -o area.cl
grep -c '42' area.cl
kymo shader area.metal -I include -C 0=14 -o area.kymolib && head -c 7 area.kymolib && echo
kymo shader area.metal -I include -C 0=14 --to cuda -o area.kymolib
