# a module of SPIR-V has one kernel
skip: this Kymo was built without Vulkan
exit: 2
printf 'kernel void f(device int* x) { x[0] = 1; }\nkernel void g(device int* x) { x[0] = 2; }\n' > two.metal
kymo shader two.metal --to spirv --kernel g | od -An -tx4 -N4
kymo shader two.metal --to spirv
