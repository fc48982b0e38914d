// The OpenMP tool: parallel regions, work, barriers, waits and tasks as ranges on their threads.
//
// An OpenMP runtime with OMPT (LLVM's libomp; not GCC's libgomp) calls ompt_start_tool in the libraries that
// OMP_TOOL_LIBRARIES names, before its first region. A tool that is registered makes each region a little slower, also
// while nothing records. So the tool declines unless a recording runs at that moment, or KYMO_OPENMP=on asks for it.
#pragma once

#include <cstdint>

namespace kymo::inject::openmp {

// The part of OMPT, the tool interface of OpenMP 5, that the adapter uses. Compilers bring its header, omp-tools.h, in
// folders of their own, so these are its declarations with the numbers of the OpenMP specification.

// A word of the tool in an object of the runtime. 0 when the object is new.
union Data {
  uint64_t value;
  void* pointer;
};

using Function = void (*)();
using Lookup = Function (*)(const char* name);

struct StartResult {
  int (*initialize)(Lookup lookup, int initial_device, Data* tool);
  void (*finalize)(Data* tool);
  Data tool;
};

enum class Callback : int {
  ThreadBegin = 1,
  ThreadEnd = 2,
  ParallelBegin = 3,
  ParallelEnd = 4,
  TaskCreate = 5,
  TaskSchedule = 6,
  ImplicitTask = 7,
  Work = 20,
  SyncRegion = 23,
  MutexAcquire = 26,
  MutexAcquired = 27,
};
// The result says how often the runtime makes the call. The adapter copes with all answers.
using SetCallback = int (*)(Callback which, Function function);

enum class Endpoint : int { Begin = 1, End = 2, BeginEnd = 3 };
enum class ThreadKind : int { Initial = 1, Worker = 2 };
enum class WorkKind : int {
  Loop = 1,
  Sections = 2,
  Single = 3,       // the thread that executes it
  SingleOther = 4,  // the others
  Workshare = 5,
  Distribute = 6,
  Taskloop = 7,
  Scope = 8
};
enum class SyncKind : int {
  Barrier = 1,
  BarrierImplicit = 2,
  BarrierExplicit = 3,
  BarrierImplementation = 4,
  Taskwait = 5,
  Taskgroup = 6,
  Reduction = 7,
  BarrierWorkshare = 8,  // 8 to 10: OpenMP 5.1
  BarrierParallel = 9,
  BarrierTeams = 10
};
enum class MutexKind : int {
  Lock = 1,
  TestLock = 2,
  NestLock = 3,
  TestNestLock = 4,
  Critical = 5,
  Atomic = 6,
  Ordered = 7
};
enum class TaskStatus : int {
  Complete = 1,
  Yield = 2,
  Cancel = 3,
  Detach = 4,
  EarlyFulfill = 5,
  LateFulfill = 6,
  Switch = 7
};

inline constexpr int kInitialTask = 0x1, kExplicitTask = 0x4;  // flags of tasks

}  // namespace kymo::inject::openmp

extern "C" {
__attribute__((visibility("default"))) kymo::inject::openmp::StartResult* ompt_start_tool(unsigned int version,
                                                                                          const char* runtime);
}
