// The memory of tensors on the CPU, on all threads, as allocations of the Kymo recording that is on.
//
// libtorch reports memory only on threads that have a profiler. But its allocator for the CPU can be replaced for the
// whole process. This file replaces it with one that calls the previous allocator and reports its allocations. Memory
// that was allocated this way is also freed through this file, even after watching has stopped: that costs a load and a
// jump.
#pragma once

namespace kymo::libtorch {

// One at a time. Throws kymo::Error if the program has set so many allocators that there is no space for another one.
void watch_allocator();
// Restores the previous allocator, unless the program has set another one in the meantime.
void stop_watching_allocator() noexcept;

// The stacks of these allocations, as `kymo memory` reads them. Each thread reports a tree of return addresses, one
// instant per node, and the files that contain the code. An allocation refers to a node.
//
// Starts or stops recording stacks, for a recording that starts or has started.
void record_allocation_stacks(bool on) noexcept;

}  // namespace kymo::libtorch
