#include "device/cuda/queue.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "device/cuda/program.h"
#include "device/ptx/ptx.h"

namespace kymo::device::cuda {
namespace {

constexpr unsigned kGroup = 256;
constexpr unsigned kGroupsPerUnit = 8;  // 2048 threads, all that a multiprocessor runs

// Thread i stores elements i, i + threads, i + 2 × threads, …
constexpr const char* kSource = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry kymo_fill(.param .u64 to, .param .u64 pattern, .param .u64 count)
{
	.reg .pred %p<2>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<10>;
	ld.param.u64 %rd1, [to];
	ld.param.u64 %rd2, [pattern];
	ld.param.u64 %rd4, [count];
	cvta.to.global.u64 %rd1, %rd1;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mov.u32 %r4, %nctaid.x;
	mul.wide.u32 %rd5, %r1, %r2;
	cvt.u64.u32 %rd6, %r3;
	add.u64 %rd5, %rd5, %rd6;
	mul.wide.u32 %rd7, %r4, %r2;
loop:
	setp.ge.u64 %p1, %rd5, %rd4;
	@%p1 ret;
	shl.b64 %rd8, %rd5, 3;
	add.u64 %rd8, %rd1, %rd8;
	st.global.u64 [%rd8], %rd2;
	add.u64 %rd5, %rd5, %rd7;
	bra loop;
}
)";

}  // namespace

void PatternFill::load() {
  const Api& api = context_.api;
  CUmodule module = nullptr;  // lives as long as the context
  check(api, api.module_load(&module, kSource), "cuModuleLoadData of Kymo's own kernels");
  check(api, api.module_function(&fill_, module, "kymo_fill"), "cuModuleGetFunction");
  int units = 0;
  check(api, api.device_attribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, context_.device),
        "cuDeviceGetAttribute");
  groups_ = static_cast<unsigned>(units) * kGroupsPerUnit;
}

void PatternFill::operator()(CUdeviceptr to, uint64_t pattern, uint64_t count, CUstream stream) {
  std::call_once(loaded_, [this] { load(); });
  void* parameters[] = {&to, &pattern, &count};
  const auto groups = static_cast<unsigned>(std::min<uint64_t>((count + kGroup - 1) / kGroup, groups_));
  check(context_.api, context_.api.launch(fill_, groups, 1, 1, kGroup, 1, 1, 0, stream, parameters, nullptr),
        "cuLaunchKernel");
}

CudaMarker::CudaMarker(const Context& context, EventClock& clock, bool timing)
    : context_(context), clock_(clock), timing_(timing) {
  const Current current(context_);
  check(context_.api, context_.api.event_create(&event_, timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
        "cuEventCreate");
}

CudaMarker::~CudaMarker() {
  // The driver destroys a pending event when it has happened.
  while_current(context_, [this] { context_.api.event_destroy(event_); });
}

bool CudaMarker::reached() {
  if (!recorded_) return true;
  const Current current(context_);
  const CUresult result = context_.api.event_query(event_);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(context_.api, result, "cuEventQuery");
  return true;
}

void CudaMarker::synchronize() {
  if (!recorded_) return;
  const Current current(context_);
  check(context_.api, context_.api.event_synchronize(event_), "cuEventSynchronize");
}

std::optional<uint64_t> CudaMarker::time() {
  if (!timing_ || !recorded_ || !reached()) return {};
  const Current current(context_);
  return clock_.ticks_of(event_);
}

void CudaMarker::record(CUstream stream) {
  if (timing_) clock_.tend();
  check(context_.api, context_.api.event_record(event_, stream), "cuEventRecord");
  recorded_ = true;
}

CudaStampDriver::~CudaStampDriver() {
  while_current(context_, [this] {
    const Api& api = context_.api;
    if (reader_ != nullptr) {
      api.stream_synchronize(reader_);
      api.stream_destroy(reader_);
    }
    if (event_ != nullptr) api.event_destroy(event_);
    for (const StampBlock& block : blocks_) {
      if (block.device != 0) api.memory_free(block.device);
      if (block.host != nullptr) api.host_free(block.host);
    }
  });
}

bool CudaStampDriver::open() {
  const Api& api = context_.api;
  if (event_ == nullptr && api.event_create(&event_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
  return reader_ != nullptr || api.stream_create(&reader_, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS;
}

std::optional<int64_t> CudaStampDriver::timer_offset() { return open() ? timer_.get() : std::nullopt; }

std::optional<StampBlock> CudaStampDriver::allocate(size_t bytes) {
  const Api& api = context_.api;
  StampBlock& block = blocks_.emplace_back();
  CUdeviceptr device = 0;
  if (api.memory_allocate(&device, bytes) != CUDA_SUCCESS) return std::nullopt;
  block.device = device;
  if (api.fill_8(block.device, 0, bytes, stream_) != CUDA_SUCCESS) return std::nullopt;
  void* host = nullptr;
  if (api.host_allocate(&host, bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS) return std::nullopt;
  block.host = static_cast<std::byte*>(host);
  return block;
}

void CudaStampDriver::fence() { check(context_.api, context_.api.event_record(event_, stream_), "cuEventRecord"); }

void CudaStampDriver::copy(const StampBlock& block, size_t offset, size_t bytes) {
  check(context_.api, context_.api.copy_to_host(block.host + offset, block.device + offset, bytes, reader_),
        "cuMemcpyDtoHAsync");
}

void CudaStampDriver::end_copies() { check(context_.api, context_.api.event_record(event_, reader_), "cuEventRecord"); }

StampProgress CudaStampDriver::look() {
  const CUresult result = context_.api.event_query(event_);
  if (result == CUDA_ERROR_NOT_READY) return StampProgress::Pending;
  return result == CUDA_SUCCESS ? StampProgress::Reached : StampProgress::Failed;
}

void CudaStampDriver::wait() { check(context_.api, context_.api.stream_synchronize(reader_), "cuStreamSynchronize"); }

Tickets::~Tickets() {
  while_current(context_, [this] {
    for (const Pair& pair : pairs_) {
      context_.api.event_destroy(pair.start);
      context_.api.event_destroy(pair.end);
    }
    for (; !ends_.empty(); ends_.pop_front()) unused_ends_.push_back(ends_.front());
    for (const CUevent event : unused_ends_) context_.api.event_destroy(event);
  });
}

uint32_t Tickets::begin() {
  const Api& api = context_.api;
  clock_.tend();
  if (unused_.empty()) {
    Pair pair;
    check(api, api.event_create(&pair.start, CU_EVENT_DEFAULT), "cuEventCreate");
    check(api, api.event_create(&pair.end, CU_EVENT_DEFAULT), "cuEventCreate");
    pairs_.push_back(pair);
    unused_.push_back(static_cast<uint32_t>(pairs_.size() - 1));
  }
  const uint32_t index = unused_.back();
  check(api, api.event_record(pairs_[index].start, stream_), "cuEventRecord");
  unused_.pop_back();
  return index;
}

Ticket Tickets::end(uint32_t index) {
  check(context_.api, context_.api.event_record(pairs_[index].end, stream_), "cuEventRecord");
  return index;
}

void Tickets::record_end() {
  const Api& api = context_.api;
  clock_.tend();
  if (unused_ends_.empty()) {
    CUevent event = nullptr;
    check(api, api.event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
    unused_ends_.push_back(event);
  }
  check(api, api.event_record(unused_ends_.back(), stream_), "cuEventRecord");
  ends_.push_back(unused_ends_.back());
  unused_ends_.pop_back();
}

Redeemed Tickets::redeem_stamp(Timing& timing) {
  const Redeemed redeemed = stamps_.redeem(timing);
  if (redeemed != Redeemed::Done) return redeemed;
  if (timing.end == 0) {
    timing.end = clock_.ticks_of(ends_.front());
    unused_ends_.push_back(ends_.front());
    ends_.pop_front();
  }
  order_.apply(timing);
  return redeemed;
}

Redeemed Tickets::redeem(Ticket ticket, Timing& timing) {
  if (ticket == kStamped) return redeem_stamp(timing);
  const Api& api = context_.api;
  const Pair& pair = pairs_[ticket];
  const CUresult result = api.event_query(pair.end);
  if (result == CUDA_ERROR_NOT_READY) return Redeemed::Pending;
  unused_.push_back(static_cast<uint32_t>(ticket));
  if (result != CUDA_SUCCESS) return Redeemed::Lost;
  clock_.tend();  // a long operation ends far from the bases that were recorded when it began
  timing = {clock_.ticks_of(pair.start), clock_.ticks_of(pair.end)};
  order_.apply(timing);
  return Redeemed::Done;
}

namespace {

constexpr uint64_t kMaxGroupsX = (uint64_t{1} << 31) - 1, kMaxGroupsYZ = 65535;

CUstream make_stream(const Context& context) {
  const Current current(context);
  CUstream stream = nullptr;
  check(context.api, context.api.stream_create(&stream, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreateWithPriority");
  return stream;
}

struct Groups {
  unsigned x, y, z;
};

Groups groups_of(const Piece& piece) {
  const auto groups = [](uint64_t threads, uint64_t group) { return (threads + group - 1) / group; };
  const uint64_t x = groups(piece.threads.x, piece.group.x), y = groups(piece.threads.y, piece.group.y),
                 z = groups(piece.threads.z, piece.group.z);
  if (x > kMaxGroupsX || y > kMaxGroupsYZ || z > kMaxGroupsYZ) [[unlikely]]
    throw DeviceError(
        base::format("CUDA launches at most {} x {} x {} groups, not {} x {} x {}: use larger groups, or put "
                     "the longest dimension into x",
                     kMaxGroupsX, kMaxGroupsYZ, kMaxGroupsYZ, x, y, z));
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

// The kernel's parameters in the driver's form: the address of each. Parameters of group memory are offsets in the
// dynamic group memory, one after the other.
class Parameters {
 public:
  Parameters(const CudaProgram::Kernel& kernel, const Launch& launch) : dynamic_bytes_(kernel.spare_group_bytes) {
    if (kernel.parameters + kAdded > kFewParameters) [[unlikely]] {
      many_.resize(kernel.parameters + kAdded);
      places_ = many_.data();
    }
    for (uint32_t i = 0; i < kernel.parameters; ++i) {
      const Argument& argument = launch.arguments[i];
      const void* value = argument.data != nullptr ? argument.data : &argument.address;
      places_[i] = const_cast<void*>(value);  // the driver only reads it
    }
    if (launch.arguments.size() > kernel.parameters) dynamic_bytes_ = launch.arguments[kernel.parameters].bytes;
    if (!kernel.locals.empty()) [[unlikely]]
      place_locals(kernel, launch);
  }
  Parameters(const Parameters&) = delete;

  void** places() { return places_; }
  unsigned dynamic_bytes() const { return dynamic_bytes_; }

 private:
  static constexpr size_t kFewParameters = 64, kAdded = 3;  // the grid, the edge, the stamp
  static constexpr uint32_t kLocalAlignment = 16;

  void place_locals(const CudaProgram::Kernel& kernel, const Launch& launch) {
    offsets_.reserve(kernel.locals.size());
    for (const uint32_t local : kernel.locals) {
      offsets_.push_back(dynamic_bytes_);
      places_[local] = &offsets_.back();
      dynamic_bytes_ += (launch.arguments[local].bytes + kLocalAlignment - 1) / kLocalAlignment * kLocalAlignment;
    }
  }

  std::array<void*, kFewParameters> few_;
  std::vector<void*> many_;
  void** places_ = few_.data();
  std::vector<uint32_t> offsets_;
  uint32_t dynamic_bytes_;
};

}  // namespace

CudaQueue::CudaQueue(const Context& context, EventClock& clock, TimerOffset& timer, PatternFill& fill,
                     bool pageable_lingers)
    : context_(context),
      pattern_fill_(fill),
      pageable_lingers_(pageable_lingers),
      stream_(make_stream(context)),
      tickets_(context, clock, timer, stream_) {}

CudaQueue::~CudaQueue() {
  while_current(context_, [this] {
    context_.api.stream_synchronize(stream_);
    if (order_event_ != nullptr) context_.api.event_destroy(order_event_);
    context_.api.stream_destroy(stream_);
  });
}

void CudaQueue::launch(const Launch& launch, Ticket* ticket) {
  const Current current(context_);
  if (ticket != nullptr && static_cast<const CudaProgram*>(launch.program)->stamps()) {
    const uint64_t warps = warps_of(launch);
    if (const auto stamp = tickets_.take_stamp(warps)) {
      launch_all(launch, *stamp);
      *ticket = tickets_.stamped(*stamp, warps);
      return;
    }
  }
  Tickets::Scope timed(tickets_, ticket);
  launch_all(launch, {});
  timed.end();
}

void CudaQueue::launch_all(const Launch& launch, Stamp stamp) {
  const CudaProgram::Kernel& kernel = static_cast<const CudaProgram*>(launch.program)->kernel(launch.kernel);
  Parameters parameters(kernel, launch);
  // The device numbers the lanes of a warp as if all groups were whole.
  if (kernel.uses_simdgroups && !lacks_only_last(launch.threads, launch.group)) [[unlikely]] {
    const Pieces pieces = cut(launch.threads, launch.group, true);
    for (const Piece& piece : pieces.all()) {
      launch_piece(launch, piece, stamp, parameters.dynamic_bytes(), parameters.places());
      stamp.start = 0;  // only the first piece stamps the start
    }
  } else {
    launch_piece(launch, {{0, 0, 0}, launch.threads, launch.group}, stamp, parameters.dynamic_bytes(),
                 parameters.places());
  }
}

void CudaQueue::launch_piece(const Launch& launch, const Piece& piece, const Stamp& stamp, unsigned dynamic_bytes,
                             void** parameters) {
  const CudaProgram::Kernel& kernel = static_cast<const CudaProgram*>(launch.program)->kernel(launch.kernel);
  const Groups groups = groups_of(piece);
  uint32_t next = kernel.parameters;
  Grid grid;
  if (kernel.takes_grid) {
    grid = grid_of(launch);
    grid.offset = {static_cast<uint32_t>(piece.offset.x), static_cast<uint32_t>(piece.offset.y),
                   static_cast<uint32_t>(piece.offset.z)};
    parameters[next++] = &grid;
  }
  Edge edge =
      edge_of({piece.threads.x, piece.threads.y, piece.threads.z}, {piece.group.x, piece.group.y, piece.group.z});
  parameters[next++] = &edge;
  Stamp stamped = stamp;
  if (static_cast<const CudaProgram*>(launch.program)->stamps()) parameters[next] = &stamped;
  check(context_.api,
        context_.api.launch(kernel.function, groups.x, groups.y, groups.z, static_cast<unsigned>(piece.group.x),
                            static_cast<unsigned>(piece.group.y), static_cast<unsigned>(piece.group.z), dynamic_bytes,
                            stream_, parameters, nullptr),
        "cuLaunchKernel");
}

void CudaQueue::fill(Address to, const void* pattern, uint32_t pattern_bytes, size_t bytes, Ticket* ticket) {
  const Current current(context_);
  const Api& api = context_.api;
  uint64_t value = 0;
  std::memcpy(&value, pattern, pattern_bytes);
  const auto word = static_cast<uint32_t>(value);
  // A pattern that repeats after four bytes, usually zeros, is a pattern of four bytes.
  if (pattern_bytes == 8 && word == value >> 32) pattern_bytes = 4;
  Tickets::Scope timed(tickets_, ticket);
  if (pattern_bytes == 1)
    check(api, api.fill_8(to, static_cast<unsigned char>(value), bytes, stream_), "cuMemsetD8Async");
  else if (pattern_bytes == 2)
    check(api, api.fill_16(to, static_cast<unsigned short>(value), bytes / 2, stream_), "cuMemsetD16Async");
  else if (pattern_bytes == 4)
    check(api, api.fill_32(to, word, bytes / 4, stream_), "cuMemsetD32Async");
  else
    pattern_fill_(to, value, bytes / 8, stream_);
  timed.end();
}

void CudaQueue::copy(Address from, Address to, size_t bytes, Ticket* ticket) {
  const Current current(context_);
  Tickets::Scope timed(tickets_, ticket);
  check(context_.api, context_.api.copy_on_device(to, from, bytes, stream_), "cuMemcpyDtoDAsync");
  timed.end();
}

// For pageable memory, the driver has made a copy when an upload returns, and a download is complete when it returns;
// unless the device accesses such memory directly.
void CudaQueue::settle_pageable(const void* host) {
  if (!pageable_lingers_) return;
  unsigned type = 0;
  const CUresult result =
      context_.api.pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(host));
  if (result == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST) return;  // pinned
  check(context_.api, context_.api.stream_synchronize(stream_), "cuStreamSynchronize");
}

void CudaQueue::upload(const void* from, Address to, size_t bytes, Ticket* ticket) {
  const Current current(context_);
  Tickets::Scope timed(tickets_, ticket);
  check(context_.api, context_.api.copy_to_device(to, from, bytes, stream_), "cuMemcpyHtoDAsync");
  timed.end();
  settle_pageable(from);
}

void CudaQueue::download(Address from, void* to, size_t bytes, Ticket* ticket) {
  const Current current(context_);
  Tickets::Scope timed(tickets_, ticket);
  check(context_.api, context_.api.copy_to_host(to, from, bytes, stream_), "cuMemcpyDtoHAsync");
  timed.end();
  settle_pageable(to);
}

void CudaQueue::record(Marker& marker) {
  const Current current(context_);
  static_cast<CudaMarker&>(marker).record(stream_);
}

void CudaQueue::wait(Marker& marker) {
  const Current current(context_);
  check(context_.api, context_.api.stream_wait(stream_, static_cast<CudaMarker&>(marker).event(), 0),
        "cuStreamWaitEvent");
}

// One event for all calls: a wait refers to what was recorded when it was queued, whatever is recorded afterwards.
void CudaQueue::order(CUstream earlier, CUstream later) {
  if (earlier == later) return;
  const Current current(context_);
  if (order_event_ == nullptr)
    check(context_.api, context_.api.event_create(&order_event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  check(context_.api, context_.api.event_record(order_event_, earlier), "cuEventRecord");
  check(context_.api, context_.api.stream_wait(later, order_event_, 0), "cuStreamWaitEvent");
}

bool CudaQueue::precede(uint64_t native_handle) {
  order(stream_, reinterpret_cast<CUstream>(native_handle));
  return true;
}

bool CudaQueue::follow(uint64_t native_handle) {
  order(reinterpret_cast<CUstream>(native_handle), stream_);
  return true;
}

void CudaQueue::synchronize() {
  const Current current(context_);
  check(context_.api, context_.api.stream_synchronize(stream_), "cuStreamSynchronize");
  tickets_.all_ran();
}

Redeemed CudaQueue::redeem(Ticket ticket, Timing& timing) {
  const Current current(context_);
  return tickets_.redeem(ticket, timing);
}

}  // namespace kymo::device::cuda
