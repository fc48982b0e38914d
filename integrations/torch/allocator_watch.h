// The memory of tensors on the CPU, on all threads, as allocations of the Kymo recording that is on.
//
// libtorch tells profilers of memory thread by thread, and only threads that carry one. Its allocator for the CPU can
// be replaced for the whole process instead, and is here by one that asks the former and tells what it gave. Memory
// that was taken so keeps the way back through this file, also when nothing is watched any more: a load and a jump.
#pragma once

namespace kymo::libtorch {

// One at a time. Throws kymo::Error where the program has had so many allocators that there is no place for one more.
void watch_allocator();
// The former allocator is back, unless the program has set another one meanwhile.
void stop_watching_allocator() noexcept;

}  // namespace kymo::libtorch
