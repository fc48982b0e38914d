# a file that is not a text is one error
exit: 1
printf '\177ELF\0\0 kernel void f( \377' > f.metal
kymo shader f.metal
