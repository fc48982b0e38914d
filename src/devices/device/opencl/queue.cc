#include "device/opencl/queue.h"

#include <algorithm>
#include <cstring>

#include "device/opencl/api.h"
#include "device/opencl/kernel_pool.h"
#include "device/opencl/program.h"

namespace kymo::device::opencl {
namespace {

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace

OpenClQueue::OpenClQueue(Context& context, TimerCheck& timer)
    : context_(context),
      cl_(context.cl),
      queue_(context.make_queue(false)),
      tickets_(context, timer, queue_),
      staging_(context) {
  const std::lock_guard lock(context_.launching);
  context_.queues.push_back(&queue_);
}

OpenClQueue::~OpenClQueue() {
  cl_.clFinish(queue_.get());
  const std::lock_guard lock(context_.launching);
  std::erase(context_.queues, &queue_);
}

void OpenClQueue::start_profiling() {
  CommandQueue profiled = context_.make_queue(true);
  cl_event event = nullptr;
  check(cl_.clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  const Event end_of_old = owned(event);
  check(cl_.clFlush(queue_.get()), "clFlush");
  check(cl_.clEnqueueBarrierWithWaitList(profiled.get(), 1, &event, nullptr), "clEnqueueBarrierWithWaitList");
  profiling_ = true;
  const std::lock_guard lock(context_.launching);
  queue_ = std::move(profiled);
}

// ---- Launches ------------------------------------------------------------------------------------------------------

cl_int OpenClQueue::enqueue(KernelPool& pool, cl_kernel kernel, const Piece& piece, cl_event* event) {
  const size_t offset[3] = {piece.offset.x, piece.offset.y, piece.offset.z};
  const size_t threads[3] = {piece.threads.x, piece.threads.y, piece.threads.z};
  const size_t group[3] = {piece.group.x, piece.group.y, piece.group.z};
  const bool has_offset = (offset[0] | offset[1] | offset[2]) != 0;
  // A piece has as many dimensions as its launch. An edge may be only one thread thin; then its offset shows that the
  // dimension exists.
  const cl_uint dimensions = threads[2] > 1 || offset[2] != 0 ? 3 : threads[1] > 1 || offset[1] != 0 ? 2 : 1;
  std::unique_lock<std::mutex> turn;
  bool is_new = false;
  if (context_.device.waits_for_other_code) {
    turn = std::unique_lock(context_.launching);
    is_new = pool.needs_other_code(piece.group, piece.threads, has_offset);
    for (size_t i = 0; is_new && i < context_.queues.size(); ++i)
      check(cl_.clFinish(context_.queues[i]->get()), "clFinish");
  }
  const cl_int code = cl_.clEnqueueNDRangeKernel(queue_.get(), kernel, dimensions, has_offset ? offset : nullptr,
                                                 threads, group, 0, nullptr, event);
  // The code is compiled when the launch runs: the next one must not come meanwhile.
  if (is_new && code == CL_SUCCESS) check(cl_.clFinish(queue_.get()), "clFinish");
  return code;
}

void OpenClQueue::launch(const Launch& launch, Ticket* ticket) {
  const auto& program = static_cast<const OpenClProgram&>(*launch.program);
  if (divides(launch.threads, launch.group) || program.takes_partial_groups()) {
    const Piece whole{{0, 0, 0}, launch.threads, launch.group};
    return launch_pieces(launch, program.kernel(launch.kernel), {&whole, 1}, ticket);
  }
  const auto pool = program.piece_kernel(launch.kernel, launch.group, tail_of(launch.threads, launch.group));
  // The code for a GPU works for any group size. The code for a CPU is compiled for each size, so there an edge uses
  // sizes that occur again.
  const bool keep_groups = program.sees().groups || !context_.device.is_cpu;
  const Pieces pieces = cut(launch.threads, launch.group, keep_groups);
  launch_pieces(launch, *pool, pieces.all(), ticket);
}

void OpenClQueue::launch_pieces(const Launch& launch, KernelPool& pool, std::span<const Piece> pieces, Ticket* ticket) {
  std::optional<Stamp> stamp;
  if (ticket != nullptr && pool.takes_stamp()) stamp = tickets_.take_stamp(launch);
  const bool start_by_event = ticket != nullptr && !stamp;
  const bool end_by_event = start_by_event || (stamp && stamp->ends == 0);
  if (end_by_event && !profiling_) start_profiling();
  Stamp next = stamp.value_or(Stamp{});
  Event first, last;
  {
    KernelPool::Loan kernel(pool);
    kernel.set(launch);
    for (const Piece& piece : pieces) {
      const bool is_first = &piece == &pieces.front(), is_last = &piece == &pieces.back();
      const bool wants_event = (is_first && start_by_event) || (is_last && end_by_event);
      if (pieces.size() > 1) kernel.set_offset(launch, {piece.offset.x, piece.offset.y, piece.offset.z});
      if (pool.takes_stamp()) kernel.set_stamp(next);
      next.start = 0;  // only the first piece stores the start
      cl_event event = nullptr;
      check(enqueue(pool, kernel.get(), piece, wants_event ? &event : nullptr), "clEnqueueNDRangeKernel");
      if (event != nullptr) (is_first ? first : last) = owned(event);
    }
  }
  if (ticket == nullptr) return;
  *ticket = stamp ? tickets_.give_stamped(launch, std::move(last ? last : first))
                  : tickets_.give(std::move(first), std::move(last));
}

// ---- Copies --------------------------------------------------------------------------------------------------------

void OpenClQueue::give_ticket_of_nothing(Ticket* ticket) {
  if (ticket == nullptr) return;
  if (!profiling_) start_profiling();
  cl_event event = nullptr;
  check(cl_.clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  *ticket = tickets_.give(owned(event));
}

void OpenClQueue::fill(Address to, const void* pattern, uint32_t pattern_bytes, size_t bytes, Ticket* ticket) {
  if (bytes == 0) return give_ticket_of_nothing(ticket);
  if (ticket != nullptr && !profiling_) start_profiling();
  cl_event event = nullptr;
  const cl_int status = cl_.clEnqueueSVMMemFill(queue_.get(), pointer(to), pattern, pattern_bytes, bytes, 0, nullptr,
                                                ticket != nullptr ? &event : nullptr);
  if (status == CL_INVALID_OPERATION) {  // PoCL 5 fills only memory that it has allocated, but copies to any
    std::vector<char> filled(bytes);
    for (size_t at = 0; at < bytes; at += pattern_bytes)
      std::memcpy(filled.data() + at, pattern, std::min<size_t>(pattern_bytes, bytes - at));
    return upload(filled.data(), to, bytes, ticket);
  }
  check(status, "clEnqueueSVMMemFill");
  if (ticket != nullptr) *ticket = tickets_.give(owned(event));
}

void OpenClQueue::memcpy_command(void* to, const void* from, size_t bytes, bool blocking, Ticket* ticket) {
  if (ticket != nullptr && !profiling_) start_profiling();
  cl_event event = nullptr;
  check(cl_.clEnqueueSVMMemcpy(queue_.get(), blocking ? CL_TRUE : CL_FALSE, to, from, bytes, 0, nullptr,
                               ticket != nullptr ? &event : nullptr),
        "clEnqueueSVMMemcpy");
  if (ticket != nullptr) *ticket = tickets_.give(owned(event));
}

void OpenClQueue::copy(Address from, Address to, size_t bytes, Ticket* ticket) {
  if (bytes == 0) return give_ticket_of_nothing(ticket);
  memcpy_command(pointer(to), pointer(from), bytes, false, ticket);
}

void OpenClQueue::upload(const void* from, Address to, size_t bytes, Ticket* ticket) {
  if (bytes == 0) return give_ticket_of_nothing(ticket);
  if (context_.host_memory.covers(from, bytes)) return memcpy_command(pointer(to), from, bytes, false, ticket);
  if (ticket != nullptr && !profiling_) start_profiling();  // before staging, because staging belongs to one queue
  const void* staged = bytes <= Staging::kLargest ? staging_.stage(queue_.get(), from, bytes) : nullptr;
  memcpy_command(pointer(to), staged != nullptr ? staged : from, bytes, staged == nullptr, ticket);
}

void OpenClQueue::download(Address from, void* to, size_t bytes, Ticket* ticket) {
  if (bytes == 0) return give_ticket_of_nothing(ticket);
  memcpy_command(to, pointer(from), bytes, !context_.host_memory.covers(to, bytes), ticket);
}

// ---- Order ---------------------------------------------------------------------------------------------------------

void OpenClQueue::record(Marker& marker) {
  auto& own = static_cast<OpenClMarker&>(marker);
  if (own.timing() && !profiling_) start_profiling();
  cl_event event = nullptr;
  check(cl_.clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  own.put(owned(event), queue_.get());
}

void OpenClQueue::wait(Marker& marker) {
  auto& own = static_cast<OpenClMarker&>(marker);
  const cl_event event = own.event();
  if (event == nullptr || own.is_in(queue_.get())) return;  // the queue is in order already
  own.flush();
  check(cl_.clEnqueueBarrierWithWaitList(queue_.get(), 1, &event, nullptr), "clEnqueueBarrierWithWaitList");
}

void OpenClQueue::flush() { check(cl_.clFlush(queue_.get()), "clFlush"); }

void OpenClQueue::synchronize() {
  check(cl_.clFinish(queue_.get()), "clFinish");
  if (failure_ != CL_SUCCESS) fail(std::exchange(failure_, CL_SUCCESS), "an operation on the device");
  tickets_.all_ran();
}

Redeemed OpenClQueue::redeem(Ticket ticket, Timing& timing) { return tickets_.redeem(ticket, timing, failure_); }

void OpenClMarker::put(Event event, cl_command_queue queue) {
  event_ = std::move(event);
  flushed_ = false;
  if (is_in(queue)) return;
  context_.cl.clRetainCommandQueue(queue);
  queue_ = {queue, context_.cl.clReleaseCommandQueue};
}

void OpenClMarker::flush() {
  if (flushed_) return;
  check(context_.cl.clFlush(queue_.get()), "clFlush");
  flushed_ = true;
}

bool OpenClMarker::reached() {
  if (!event_) return true;
  flush();
  cl_int status = CL_COMPLETE;
  check(context_.cl.clGetEventInfo(event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
        "clGetEventInfo");
  return status <= CL_COMPLETE;  // a lower value: it failed and will not complete
}

void OpenClMarker::synchronize() {
  if (!event_) return;
  flush();
  const cl_event event = event_.get();
  check(context_.cl.clWaitForEvents(1, &event), "clWaitForEvents");
}

std::optional<uint64_t> OpenClMarker::time() {
  if (!timing_ || !event_ || !reached()) return std::nullopt;
  cl_ulong end = 0;
  if (context_.cl.clGetEventProfilingInfo(event_.get(), CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) !=
      CL_SUCCESS)
    return std::nullopt;
  return end;
}

namespace {

// A driver may run a larger launch in several parts. Then the first group of each part would store its start.
bool is_one_grid(const Launch& launch) {
  constexpr uint64_t kMaxGroupsX = (uint64_t{1} << 31) - 1, kMaxGroupsYZ = 65535;
  const Extent &threads = launch.threads, &group = launch.group;
  return threads.x / group.x < kMaxGroupsX && threads.y / group.y < kMaxGroupsYZ && threads.z / group.z < kMaxGroupsYZ;
}

}  // namespace

Ticket Tickets::give(Event first, Event last) {
  pending_.push_back({std::move(first), std::move(last), false});
  return oldest_ + pending_.size() - 1;
}

std::optional<Stamp> Tickets::take_stamp(const Launch& launch) {
  return is_one_grid(launch) ? stamps_.take(warps_of(launch)) : std::nullopt;
}

Ticket Tickets::give_stamped(const Launch& launch, Event end) {
  stamps_.launched(warps_of(launch));
  pending_.push_back({std::move(end), {}, true});
  return oldest_ + pending_.size() - 1;
}

Redeemed Tickets::redeem(Ticket ticket, Timing& timing, cl_int& failure) {
  if (ticket != oldest_ || pending_.empty()) return Redeemed::Lost;
  const Pending& pending = pending_.front();
  const Redeemed redeemed = pending.stamped ? look_at_stamp(pending, timing, failure) : look(pending, timing, failure);
  if (redeemed == Redeemed::Pending) return redeemed;
  if (redeemed == Redeemed::Done) order_.apply(timing);
  pending_.pop_front();
  ++oldest_;
  return redeemed;
}

Redeemed Tickets::look_at_stamp(const Pending& pending, Timing& timing, cl_int& failure) {
  const Redeemed redeemed = stamps_.redeem(timing);
  if (redeemed == Redeemed::Lost && stamp_driver_.failure() < CL_COMPLETE) failure = stamp_driver_.failure();
  if (redeemed != Redeemed::Done || timing.end != 0) return redeemed;
  Timing by_event;
  const Redeemed end = look(pending, by_event, failure);
  timing.end = by_event.end;
  return end == Redeemed::Pending ? Redeemed::Lost : end;  // the kernel has run
}

Redeemed Tickets::look(const Pending& pending, Timing& timing, cl_int& failure) const {
  const Api& cl = context_.cl;
  const cl_event first = pending.first.get(), last = pending.last ? pending.last.get() : first;
  cl_int status = CL_COMPLETE;
  const cl_int code = cl.clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  if (code != CL_SUCCESS || status < CL_COMPLETE) {
    failure = code != CL_SUCCESS ? code : status;
    return Redeemed::Lost;
  }
  if (status > CL_COMPLETE) return Redeemed::Pending;
  cl_ulong start = 0, end = 0;
  if (cl.clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr) != CL_SUCCESS ||
      cl.clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) != CL_SUCCESS)
    return Redeemed::Lost;
  timing = {start, end};
  return Redeemed::Done;
}

namespace {

void* pointer_to(const StampBlock& block) { return reinterpret_cast<void*>(block.device); }

}  // namespace

OpenClStampDriver::~OpenClStampDriver() {
  if (reader_) context_.cl.clFinish(reader_.get());
  for (const StampBlock& block : blocks_) {
    if (block.device != 0) context_.cl.clSVMFree(context_.handle.get(), pointer_to(block));
    context_.host_memory.release(block.host);
  }
}

std::optional<int64_t> OpenClStampDriver::timer_offset() {
  return timer_.passes() ? std::optional<int64_t>(0) : std::nullopt;
}

std::optional<StampBlock> OpenClStampDriver::allocate(size_t bytes) {
  const Api& cl = context_.cl;
  if (!reader_) reader_ = context_.make_queue(false);
  StampBlock& block = blocks_.emplace_back();
  block.device = reinterpret_cast<uint64_t>(cl.clSVMAlloc(context_.handle.get(), CL_MEM_READ_WRITE, bytes, 0));
  block.host = static_cast<std::byte*>(context_.host_memory.allocate(bytes));
  if (block.device == 0 || block.host == nullptr) return std::nullopt;
  const cl_uint zero = 0;
  if (cl.clEnqueueSVMMemFill(queue_.get(), pointer_to(block), &zero, sizeof zero, bytes, 0, nullptr, nullptr) !=
      CL_SUCCESS)
    return std::nullopt;
  return block;
}

// A queue that is not flushed may never run its commands.
Event OpenClStampDriver::marker_in(const CommandQueue& queue) const {
  cl_event event = nullptr;
  check(context_.cl.clEnqueueMarkerWithWaitList(queue.get(), 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  Event marker(event, context_.cl.clReleaseEvent);
  check(context_.cl.clFlush(queue.get()), "clFlush");
  return marker;
}

void OpenClStampDriver::fence() { event_ = marker_in(queue_); }

void OpenClStampDriver::copy(const StampBlock& block, size_t offset, size_t bytes) {
  check(context_.cl.clEnqueueSVMMemcpy(reader_.get(), CL_FALSE, block.host + offset,
                                       static_cast<std::byte*>(pointer_to(block)) + offset, bytes, 0, nullptr, nullptr),
        "clEnqueueSVMMemcpy");
}

void OpenClStampDriver::end_copies() { event_ = marker_in(reader_); }

StampProgress OpenClStampDriver::look() {
  cl_int status = CL_COMPLETE;
  const cl_int code =
      context_.cl.clGetEventInfo(event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  failure_ = code != CL_SUCCESS ? code : status;
  if (failure_ < CL_COMPLETE) return StampProgress::Failed;
  return failure_ == CL_COMPLETE ? StampProgress::Reached : StampProgress::Pending;
}

void OpenClStampDriver::wait() { check(context_.cl.clFinish(reader_.get()), "clFinish"); }

}  // namespace kymo::device::opencl
