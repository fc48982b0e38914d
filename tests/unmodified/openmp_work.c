/* OpenMP with two threads: 5 regions, each with a loop, an explicit barrier, a single with 3 tasks and a taskwait, and
 * a critical section. With "fork", a child does the same after the parent has. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kElements = 1000 };
static double values[kElements];

__attribute__((noinline)) double compute(void) {
  double sum = 0;
#pragma omp parallel num_threads(2)
  {
#pragma omp for
    for (int i = 0; i < kElements; ++i) values[i] += i;
#pragma omp barrier
#pragma omp single
    {
      for (int i = 0; i < 3; ++i) {
#pragma omp task
        values[i] += 1;
      }
#pragma omp taskwait
    }
#pragma omp critical
    sum += values[5];
  }
  return sum;
}

int main(int argc, char** argv) {
  double sum = 0;
  for (int i = 0; i < 5; ++i) sum += compute();
  if (argc > 1 && strcmp(argv[1], "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 5; ++i) compute();
      return 0;
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  return sum == 150 ? 0 : 1;
}
