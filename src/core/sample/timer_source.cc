#include "sample/timer_source.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "kymo/error.h"
#include "sample/preload/packets.h"

namespace kymo::sample {

namespace {

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr uint64_t kSlotsPerProcessor = 64, kFewestSlots = 256, kMostSlots = 2048;
constexpr int kWaitMilliseconds = 10;  // the slots are fewer than the places of a ring of the kernel

#if defined(__aarch64__)
constexpr unsigned kRegisters = 4;
#else
constexpr unsigned kRegisters = 3;
#endif
constexpr RecordLayout kLayout = {PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
                                      PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                                  kRegisters};

uint64_t tick_ns() {
  timespec resolution{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0) return 1;
  return static_cast<uint64_t>(resolution.tv_sec) * kNanosecondsPerSecond + static_cast<uint64_t>(resolution.tv_nsec);
}

std::atomic_ref<uint64_t> state_of(std::byte* slot) {
  return std::atomic_ref(reinterpret_cast<kymo_slot*>(slot)->state);
}

[[noreturn]] void refuse(const char* what) {
  throw NotAvailable(base::format("no memory for samples: {}: {}", what, std::strerror(errno)));
}

}  // namespace

TimerSource::TimerSource(uint64_t hertz, bool is_beside_kernel) : is_beside_kernel_(is_beside_kernel) {
  const uint64_t most = is_beside_kernel ? hertz : kNanosecondsPerSecond / std::max<uint64_t>(tick_ns(), 1);
  hertz_ = std::clamp<uint64_t>(most, 1, hertz);
  slots_ = std::clamp(kSlotsPerProcessor * std::thread::hardware_concurrency(), kFewestSlots, kMostSlots);
  bytes_ = KYMO_PACKETS_HEADER_BYTES + slots_ * KYMO_SLOT_BYTES;
  memory_file_ = base::FileDescriptor(memfd_create("kymo-samples", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory_file_) refuse("memfd_create");
  // All of it now: memory that is missing later would be an error in the programs.
  if (const int error = posix_fallocate(memory_file_.get(), 0, static_cast<off_t>(bytes_)); error != 0) {
    errno = error;
    refuse("posix_fallocate");
  }
  if (fcntl(memory_file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) refuse("F_ADD_SEALS");
  void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file_.get(), 0);
  if (memory == MAP_FAILED) refuse("mmap");
  memory_ = static_cast<std::byte*>(memory);
  *reinterpret_cast<kymo_packets*>(memory_) = {KYMO_PACKETS_MAGIC, slots_, kNanosecondsPerSecond / hertz_, 0, 0};
  wake_ = base::FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

TimerSource::~TimerSource() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

std::vector<std::pair<std::string, std::string>> TimerSource::environment() const {
  return {{KYMO_PACKETS_VARIABLE, base::format("{}/proc/{}/fd/{}", is_beside_kernel_ ? KYMO_PACKETS_OF_PYTHON : "",
                                               getpid(), memory_file_.get())}};
}

void TimerSource::wait(int milliseconds) {
  pollfd file{wake_.get(), POLLIN, 0};
  poll(&file, 1, std::min(milliseconds, kWaitMilliseconds));
}

void TimerSource::wake() {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

void TimerSource::collect(uint64_t below, std::vector<Packet>& into, std::vector<bool>& is_taken) const {
  for (uint64_t slot = 0; slot < slots_; ++slot) {
    std::byte* const at = memory_ + KYMO_PACKETS_HEADER_BYTES + slot * KYMO_SLOT_BYTES;
    if (is_taken[slot]) continue;
    if ((state_of(at).load(std::memory_order_acquire) & KYMO_SLOT_PHASE) != KYMO_SLOT_READY) continue;
    const uint64_t number = base::load<uint64_t>(at + offsetof(kymo_slot, number));
    if (number >= below) continue;
    is_taken[slot] = true;
    into.push_back({number, slot});
  }
}

void TimerSource::handle_packet(base::Bytes packet, const Handle& handle) {
  base::Bytes left = packet;
  while (!left.empty()) {
    uint64_t size = 0;
    if (left.size() >= sizeof(perf_event_header))
      size = base::load<uint16_t>(left.data() + offsetof(perf_event_header, size));
    std::optional<Record> record;
    if (size >= sizeof(perf_event_header) && size <= left.size()) record = decode_record(left.first(size), kLayout);
    if (!record) {
      Record damaged;
      damaged.kind = RecordKind::Damaged;
      damaged.lost = 1;
      return handle(damaged);
    }
    handle(*record);
    left = left.subspan(size);
  }
}

// Programs that were killed while they wrote.
void TimerSource::free_abandoned(const Handle& handle) {
  for (uint64_t slot = 0; slot < slots_; ++slot) {
    const auto state = state_of(memory_ + KYMO_PACKETS_HEADER_BYTES + slot * KYMO_SLOT_BYTES);
    uint64_t claimed = state.load(std::memory_order_acquire);
    if ((claimed & KYMO_SLOT_PHASE) != KYMO_SLOT_CLAIMED) continue;
    const auto pid = static_cast<pid_t>(claimed >> KYMO_SLOT_PID_SHIFT);
    if (pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH)) continue;
    if (!state.compare_exchange_strong(claimed, KYMO_SLOT_FREE)) continue;
    Record lost;
    lost.kind = RecordKind::Lost;
    lost.lost = lost.lost_samples = 1;
    handle(lost);
  }
}

std::vector<std::vector<std::byte>> TimerSource::take(bool is_last, const Handle& handle_lost) {
  std::vector<Packet> packets;
  std::vector<bool> is_taken(slots_);
  collect(~uint64_t{0}, packets, is_taken);
  // A packet that became ready before one of these may have been passed by. It has a lower number.
  if (!packets.empty()) collect(std::ranges::max(packets, {}, &Packet::number).number, packets, is_taken);
  std::ranges::sort(packets, {}, &Packet::number);
  std::vector<std::vector<std::byte>> taken;
  for (const Packet& packet : packets) {
    std::byte* const at = memory_ + KYMO_PACKETS_HEADER_BYTES + packet.slot * KYMO_SLOT_BYTES;
    const uint64_t bytes = std::min<uint64_t>(base::load<uint64_t>(at + offsetof(kymo_slot, bytes)), KYMO_PACKET_BYTES);
    // A copy: a program could change the memory while it is read.
    taken.emplace_back(at + sizeof(kymo_slot), at + sizeof(kymo_slot) + bytes);
    state_of(at).store(KYMO_SLOT_FREE, std::memory_order_release);
  }
  if (is_last || packets.empty()) free_abandoned(handle_lost);
  std::atomic_ref<uint64_t> counted(reinterpret_cast<kymo_packets*>(memory_)->lost);
  const uint64_t lost = counted.load(std::memory_order_relaxed);
  if (lost <= lost_) return taken;
  Record record;
  record.kind = RecordKind::Lost;
  record.lost = record.lost_samples = lost - lost_;
  lost_ = lost;
  handle_lost(record);
  return taken;
}

void TimerSource::read(bool is_last, const Handle& handle) {
  Record lost;
  const auto taken = take(is_last, [&](const Record& record) { lost.lost += record.lost; });
  for (const std::vector<std::byte>& packet : taken) handle_packet(packet, handle);
  if (lost.lost == 0) return;
  lost.kind = RecordKind::Lost;
  lost.lost_samples = lost.lost;
  handle(lost);
}

void DoubleSource::wait(int milliseconds) { kernel_.wait(std::min(milliseconds, kWaitMilliseconds)); }

void DoubleSource::read(bool is_last, const Handle& handle) {
  // As the kernel's records, which wait so long until they are in order. A thread that was interrupted while it wrote
  // is later than that; its process or itself may be unknown by then.
  constexpr uint64_t kSettledNs = 1'000'000;
  const uint64_t settled = is_last ? ~uint64_t{0} : base::monotonic_ns() - kSettledNs;
  for (std::vector<std::byte>& packet : inside_->take(is_last, handle)) {
    uint64_t time = 0;
    TimerSource::handle_packet(packet, [&](const Record& record) { time = std::max(time, record.time); });
    pending_.push_back({time, std::move(packet)});
  }
  const auto pass_until = [&](uint64_t time) {
    for (; !pending_.empty() && pending_.front().time <= time; pending_.pop_front())
      TimerSource::handle_packet(pending_.front().packet, [&](const Record& record) {
        Record marked = record;
        marked.is_inside = true;
        handle(marked);
      });
  };
  kernel_.read(is_last, [&](const Record& record) {
    pass_until(record.time);
    handle(record);
  });
  pass_until(settled);
}

}  // namespace kymo::sample
