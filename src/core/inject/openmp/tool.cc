#include "inject/openmp/tool.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "base/text.h"
#include "inject/adapter.h"
#include "inject/handle_table.h"
#include "inject/open_ranges.h"
#include "record/process.h"

namespace kymo::inject::openmp {
namespace {

// ---- The names of constructs in the trace: what the construct is, and where it is in the program -------------------

enum class Construct : uint8_t { Parallel, Loop, Sections, Single, Workshare, Distribute, Taskloop, Scope, Task };

constexpr std::array<const char*, 9> kTexts{"omp parallel", "omp loop",      "omp sections",
                                            "omp single",   "omp workshare", "omp distribute",
                                            "omp taskloop", "omp scope",     "omp task"};
constexpr const char* kCategory = "openmp";

std::array<Site, kTexts.size()>& plain_sites() noexcept {
  static auto sites = []<size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array<Site, kTexts.size()>{Site(Label(kTexts[kIndex], kCategory))...};
  }
  (std::make_index_sequence<kTexts.size()>());
  return sites;
}

std::string demangled(const char* symbol) {
  int status = -1;
  const std::unique_ptr<char, decltype(&free)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status), free);
  return status == 0 && text != nullptr ? text.get() : symbol;
}

// Where the code is. The address is behind the call, which may be the last instruction of its function.
std::string place_of(const void* code) {
  const auto* call = static_cast<const char*>(code) - 1;
  Dl_info where;
  if (dladdr(call, &where) == 0 || where.dli_fname == nullptr) return {};
  if (where.dli_sname != nullptr) return " in " + demangled(where.dli_sname);
  const std::string_view path = where.dli_fname;
  const size_t slash = path.rfind('/');
  return base::format(" at {}+{:#x}", slash == path.npos ? path : path.substr(slash + 1),
                      static_cast<size_t>(call - static_cast<const char*>(where.dli_fbase)));
}

struct PlacedSite {
  std::string name;
  Site site;
  explicit PlacedSite(std::string text) : name(std::move(text)), site(Label(name, kCategory)) {}
};

// "omp loop in compute", or "omp loop at solver+0x1234" if the function's name is not exported. `code` is the return
// address that the runtime reports; null: only the construct. Lives as long as the process. Looked up without a lock
// after the first time.
Site& site_of(Construct construct, const void* code) noexcept {
  static Immortal<std::array<HandleTable<PlacedSite>, kTexts.size()>> storage;
  static auto& tables = storage.make();
  const auto index = static_cast<size_t>(construct);
  if (code == nullptr) return plain_sites()[index];
  if (PlacedSite* known = tables[index].find(code)) return known->site;
  try {
    auto made = std::make_unique<PlacedSite>(kTexts[index] + plain_name(place_of(code)));
    tables[index].put(code, made.get());  // another thread may do the same: both stay valid
    return made.release()->site;
  } catch (const std::bad_alloc&) {
    return plain_sites()[index];
  }
}

// ---- Ranges --------------------------------------------------------------------------------------------------------

constinit Site barrier(Label("omp barrier", "openmp")), taskwait(Label("omp taskwait", "openmp")),
    taskgroup(Label("omp taskgroup", "openmp")), reduction(Label("omp reduction", "openmp"));
constinit Site idle(Label("omp wait for work", "openmp"));
constinit Site wait_for_lock(Label("omp wait for lock", "openmp")),
    wait_for_critical(Label("omp wait for critical", "openmp")),
    wait_for_atomic(Label("omp wait for atomic", "openmp")), wait_for_ordered(Label("omp wait for ordered", "openmp"));

enum class RangeKind : uint8_t { Parallel, Member, Work, Sync, Idle, Mutex, Task };

// The thread's ranges, made with its first event. A pointer: the space for such variables of loaded libraries is small.
thread_local constinit OpenRanges* this_ranges __attribute__((tls_model("initial-exec"))) = nullptr;

OpenRanges* ranges() noexcept {
  if (this_ranges == nullptr) this_ranges = new (std::nothrow) OpenRanges(record::Interface::OpenMp);
  return this_ranges;
}

template <class... Args>
void begin(RangeKind kind, Site& site, const void* object, const Args&... args) noexcept {
  if (OpenRanges* open = ranges())
    open->begin(static_cast<uint8_t>(kind), object, [&](uint32_t receivers) {
      kymo::detail::with_args(
          [&](const kymo_arg* list, uint32_t count) { kymo_begin_args_heard(&site, list, count, receivers); }, args...);
    });
}

// False: there is no such range.
bool end(RangeKind kind, const void* object = nullptr) noexcept {
  return this_ranges != nullptr && this_ranges->end(static_cast<uint8_t>(kind), object);
}

bool has(RangeKind kind, const void* object = nullptr) noexcept {
  return this_ranges != nullptr && this_ranges->has(static_cast<uint8_t>(kind), object);
}

// ---- Threads and regions -------------------------------------------------------------------------------------------

void thread_begin(ThreadKind kind, Data*) noexcept {
  if (kind != ThreadKind::Worker) return;
  static std::atomic<unsigned> count{0};
  char name[48];
  snprintf(name, sizeof name, "OpenMP worker %u", ++count);
  kymo_set_thread_name(name);
}

void thread_end(Data*) noexcept {
  if (this_ranges == nullptr) return;
  this_ranges->end_all();
  delete this_ranges;
  this_ranges = nullptr;
}

// The runtime copies the region's word to all its threads, so that they know the region's name.
void parallel_begin(Data*, const void*, Data* region, unsigned threads, int, const void* code) noexcept {
  Site& site = site_of(Construct::Parallel, code);
  if (region != nullptr) region->pointer = &site;
  begin(RangeKind::Parallel, site, nullptr, kymo::arg("threads", threads));
}

void parallel_end(Data*, Data*, int, const void*) noexcept { end(RangeKind::Parallel); }

// A thread's share of a region. The thread that opened the region has its range already.
void implicit_task(Endpoint endpoint, Data* region, Data*, unsigned threads, unsigned index, int flags) noexcept {
  if ((flags & kInitialTask) != 0 || index == 0) return;
  if (endpoint == Endpoint::End) return void(end(RangeKind::Member));
  end(RangeKind::Idle);
  void* const name = region != nullptr ? region->pointer : nullptr;
  Site& site = name != nullptr ? *static_cast<Site*>(name) : site_of(Construct::Parallel, nullptr);
  begin(RangeKind::Member, site, nullptr, kymo::arg("threads", threads));
}

// ---- Work and waits inside a region --------------------------------------------------------------------------------

void work(WorkKind kind, Endpoint endpoint, Data*, Data*, uint64_t count, const void* code) noexcept {
  if (kind == WorkKind::SingleOther || endpoint == Endpoint::BeginEnd) return;  // nothing is done
  if (endpoint == Endpoint::End) return void(end(RangeKind::Work));
  Construct construct = Construct::Loop;
  switch (kind) {
    case WorkKind::Sections:
      construct = Construct::Sections;
      break;
    case WorkKind::Single:
      construct = Construct::Single;
      break;
    case WorkKind::Workshare:
      construct = Construct::Workshare;
      break;
    case WorkKind::Distribute:
      construct = Construct::Distribute;
      break;
    case WorkKind::Taskloop:
      construct = Construct::Taskloop;
      break;
    case WorkKind::Scope:
      construct = Construct::Scope;
      break;
    default:  // a kind of a later version is a loop over something
      break;
  }
  begin(RangeKind::Work, site_of(construct, code), nullptr, kymo::arg("count", count));
}

Site& site_of(SyncKind kind) noexcept {
  switch (kind) {
    case SyncKind::Taskwait:
      return taskwait;
    case SyncKind::Taskgroup:
      return taskgroup;
    case SyncKind::Reduction:
      return reduction;
    default:
      return barrier;
  }
}

// The barrier at the end of a region. A worker leaves it when the next region begins, perhaps much later, and the
// runtime reports the end of the region's barrier only then. So the worker's region ends here, and what follows is
// waiting. LLVM's runtime up to 18 reports it without an address.
bool ends_region(SyncKind kind, const void* code) noexcept {
  return kind == SyncKind::BarrierParallel || (kind == SyncKind::BarrierImplicit && code == nullptr);
}

void sync_region(SyncKind kind, Endpoint endpoint, Data*, Data*, const void* code) noexcept {
  if (endpoint == Endpoint::BeginEnd) return;
  const bool is_last = ends_region(kind, code);
  if (endpoint == Endpoint::End) {
    if (is_last && end(RangeKind::Idle)) return;
    return void(end(RangeKind::Sync));
  }
  if (is_last && has(RangeKind::Member)) {
    end(RangeKind::Member);
    return begin(RangeKind::Idle, idle, nullptr);
  }
  begin(RangeKind::Sync, site_of(kind), nullptr);
}

Site& site_of(MutexKind kind) noexcept {
  switch (kind) {
    case MutexKind::Critical:
      return wait_for_critical;
    case MutexKind::Atomic:
      return wait_for_atomic;
    case MutexKind::Ordered:
      return wait_for_ordered;
    default:
      return wait_for_lock;
  }
}

void mutex_acquire(MutexKind kind, unsigned, unsigned, uint64_t, const void*) noexcept {
  if (kind == MutexKind::TestLock || kind == MutexKind::TestNestLock) return;  // it does not wait
  begin(RangeKind::Mutex, site_of(kind), nullptr);
}

void mutex_acquired(MutexKind kind, uint64_t, const void*) noexcept {
  if (kind != MutexKind::TestLock && kind != MutexKind::TestNestLock) end(RangeKind::Mutex);
}

// ---- Tasks ---------------------------------------------------------------------------------------------------------

// The task's word is its name. Implicit tasks have none.
void task_create(Data*, const void*, Data* task, int flags, int, const void* code) noexcept {
  if ((flags & kExplicitTask) != 0 && task != nullptr) task->pointer = &site_of(Construct::Task, code);
}

// A task that is suspended stays open around the tasks that run meanwhile. One that continues on another thread has a
// range there too.
void task_schedule(Data* prior, TaskStatus status, Data* next) noexcept {
  const bool goes_on = status == TaskStatus::Switch || status == TaskStatus::Yield;
  if (prior != nullptr && prior->pointer != nullptr && !goes_on && status != TaskStatus::EarlyFulfill)
    end(RangeKind::Task, prior);
  if (next == nullptr || next->pointer == nullptr) return;
  if (has(RangeKind::Task, next)) return;  // it continues
  begin(RangeKind::Task, *static_cast<Site*>(next->pointer), next);
}

// ---- Registration --------------------------------------------------------------------------------------------------

int initialize(Lookup lookup, int, Data*) noexcept {
  const auto set = reinterpret_cast<SetCallback>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  const auto use = [set](Callback which, auto* function) { set(which, reinterpret_cast<Function>(function)); };
  use(Callback::ThreadBegin, thread_begin);
  use(Callback::ThreadEnd, thread_end);
  use(Callback::ParallelBegin, parallel_begin);
  use(Callback::ParallelEnd, parallel_end);
  use(Callback::TaskCreate, task_create);
  use(Callback::TaskSchedule, task_schedule);
  use(Callback::ImplicitTask, implicit_task);
  use(Callback::Work, work);
  use(Callback::SyncRegion, sync_region);
  use(Callback::MutexAcquire, mutex_acquire);
  use(Callback::MutexAcquired, mutex_acquired);
  return 1;
}

void finalize(Data*) noexcept {
  if (this_ranges != nullptr) this_ranges->end_all();
}

}  // namespace
}  // namespace kymo::inject::openmp

kymo::inject::openmp::StartResult* ompt_start_tool(unsigned int, const char*) {
  using namespace kymo::inject::openmp;
  static StartResult result{initialize, finalize, {}};
  if (!kymo::inject::is_wanted(kymo::record::Interface::OpenMp)) return nullptr;
  kymo::record::process();  // finds the recording of the process
  return kymo::record::recording() || kymo::inject::is_on("KYMO_OPENMP", false) ? &result : nullptr;
}
