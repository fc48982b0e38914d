// One CUPTI for two users: Kymo, and a profiler inside of the program, such as torch.profiler.
//
// CUPTI has one subscriber, one pair of functions for buffers and one clock in a process. So the calls of CUPTI that
// the program's libraries make are led here (imports.h), and both users get what they ask for:
//
//   calls     the subscriber is ours, and each callback goes to the user that wants it
//   records   while the program's profiler is on, CUPTI fills its buffers, and Kymo reads them before it gets them
//   clock     the one that the program's profiler wants, from its first start on; Kymo converts
//   graphs    one record for each launch, as Kymo wants it, or one for each kernel while the program's profiler is on
//
// Libraries that find CUPTI by dlsym() are not led here. CUPTI refuses them while Kymo has it.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "inject/cuda/cupti.h"

namespace kymo::inject::cuda {

// Converts the times of CUPTI's records to CLOCK_MONOTONIC: a snapshot for the records of one buffer, which are younger
// than a minute.
struct RecordClock {
  bool is_monotonic = true;
  uint64_t first_ticks = 0, first_ns = 0;  // when the clock was set
  uint64_t last_ticks = 0, last_ns = 0;    // now

  // 0: unknown. Work that began before the clock was set may have its times on CLOCK_MONOTONIC.
  uint64_t to_monotonic(uint64_t ticks) const noexcept;
};

// One object per process, because CUPTI's functions have no context. Any thread may call its functions; none fails.
class SharedCupti {
 public:
  using Clock = uint64_t (*)();
  struct Kymo {
    Cupti::OnCall on_call;                        // for the calls of record_call()
    void (*read)(uint8_t* buffer, size_t valid);  // a buffer of records that are complete
  };

  SharedCupti(const Cupti& real, const Kymo& kymo);

  // ---- For Kymo

  // `other` receives the name of a tool that has CUPTI already. `can_take_over`: it may be a library of the program
  // whose calls are led here only from now on.
  Result attach(bool can_take_over, std::string& other);
  // To be called when a call of the program returns: the only place where CUPTI may be detached. Afterwards calls cost
  // the same as without a tool, unless the program's profiler needs CUPTI.
  void detach() noexcept;
  void record_call(int domain, uint32_t call, bool wanted) noexcept;
  void record_kind(Kind kind, bool wanted) noexcept;
  RecordClock record_clock() const noexcept;
  // The program's profiler is on, or has not fetched its records yet: it counts on nobody else to flush.
  bool is_lent() const noexcept;

  // ---- What the program calls

  Result subscribe(Cupti::Subscriber* subscriber, Cupti::OnCall callback, void* user) noexcept;
  Result unsubscribe(Cupti::Subscriber subscriber) noexcept;
  Result enable_callback(uint32_t enable, Cupti::Subscriber subscriber, int domain, uint32_t call) noexcept;
  Result enable_domain(uint32_t enable, Cupti::Subscriber subscriber, int domain) noexcept;
  Result register_buffers(Cupti::Requested requested, Cupti::Completed completed) noexcept;
  Result register_clock(Clock clock) noexcept;
  Result enable(Kind kind) noexcept;
  Result disable(Kind kind) noexcept;
  Result flush(uint32_t forced) noexcept;
  Result finalize() noexcept;

 private:
  // Numbers of calls of the driver, or of what happens to its objects. Read by callbacks, without a lock.
  class Calls {
   public:
    bool has(uint32_t call) const noexcept {
      return call < kMost && (words_[call / 64].load(std::memory_order_relaxed) >> call % 64 & 1) != 0;
    }
    void set(uint32_t call, bool wanted) noexcept;
    void set_all(bool wanted) noexcept;
    static constexpr uint32_t kMost = 4096;

   private:
    std::array<std::atomic<uint64_t>, kMost / 64> words_{};
  };
  // Kymo wants nothing of other domains, so the program gets all of these: no index.
  static constexpr size_t index_of(int domain) noexcept {
    return domain == kDriverDomain ? 0 : domain == kResourceDomain ? 1 : 2;
  }
  enum class Lent : uint8_t { No, On, Ending };

  static void on_call(void*, int domain, uint32_t call, const void* data);
  static void requested(uint8_t** buffer, size_t* size, size_t* max_records);
  static void completed(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

  Result hold_subscriber(const char* name, std::string& other) noexcept;
  void hold_buffers() noexcept;
  void set_clock(Clock clock) noexcept;
  void lend() noexcept;
  void set_kymo_kinds(bool on) noexcept;
  void forget_program() noexcept;
  void release() noexcept;
  uint8_t* take_buffer() noexcept;
  bool is_own(uint8_t* buffer) noexcept;
  void give_back(uint8_t* buffer) noexcept;
  void copy_for_program(void* context, uint32_t stream, const uint8_t* buffer, size_t valid) noexcept;
  void reserve_for_program() noexcept;

  const Cupti& real_;
  const Kymo kymo_;

  std::recursive_mutex mutex_;  // of all that is not atomic below: CUPTI may call back inside of a call
  Cupti::Subscriber subscriber_ = nullptr;
  bool has_buffers_ = false;
  std::atomic<bool> is_attached_{false};             // Kymo
  std::array<Calls, 2> kymo_calls_, program_calls_;  // by index_of()
  std::bitset<128> kymo_kinds_, program_kinds_;

  std::atomic<Cupti::OnCall> program_call_{nullptr};  // null: it has not subscribed
  std::atomic<void*> program_user_{nullptr};
  std::atomic<Cupti::Requested> program_requested_{nullptr};
  std::atomic<Cupti::Completed> program_completed_{nullptr};
  std::atomic<Lent> lent_{Lent::No};
  std::atomic<uint64_t> ending_since_ns_{0};

  Clock program_clock_;

  mutable std::mutex clock_mutex_;
  Clock clock_ = nullptr;                    // null: CUPTI's own one, and nobody has asked for another one yet
  uint64_t clock_ticks_ = 0, clock_ns_ = 0;  // when it was set

  std::mutex buffers_;
  std::vector<uint8_t*> spare_;
  std::set<uint8_t*> own_;       // that CUPTI has
  uint8_t* reserved_ = nullptr;  // of the program: reserve_for_program()
  size_t reserved_bytes_ = 0;
};

// Leads the calls of CUPTI by the program's libraries to the object of this process, if there is one. Libraries that
// are loaded later need another call. False: no library of the program is linked with CUPTI.
bool lead_calls_here() noexcept;

}  // namespace kymo::inject::cuda
