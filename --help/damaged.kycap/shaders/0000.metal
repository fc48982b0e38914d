kernel void twice(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] *= 2 * by; }
