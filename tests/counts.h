// Numbers that are shared by a program and the test that watches it. They are in a file that both map, so they outlive
// the program however it ends.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace kymo::e2e {

struct Counts {
  std::atomic<uint64_t> done[8];  // by thread, or as the program defines it
  std::atomic<uint32_t> pid;
  std::atomic<uint32_t> stop;  // the test asks the program to end
};

// Never unmapped. Null: the file cannot be opened or mapped.
inline Counts* map_counts(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (ftruncate(fd, sizeof(Counts)) == 0)
    memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory != MAP_FAILED ? static_cast<Counts*>(memory) : nullptr;
}

}  // namespace kymo::e2e
