#include "sample/wait_limit.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace kymo::sample {

namespace {

base::FileDescriptor call_bpf(bpf_cmd command, bpf_attr& attributes) {
  return base::FileDescriptor(static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof attributes)));
}

base::FileDescriptor make_map(bpf_map_type type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries) {
  bpf_attr attributes{};
  attributes.map_type = type;
  attributes.key_size = key_bytes;
  attributes.value_size = value_bytes;
  attributes.max_entries = entries;
  return call_bpf(BPF_MAP_CREATE, attributes);
}

// Instructions of the kernel's virtual machine.
class Program {
 public:
  enum Register : uint8_t { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, Frame };

  void set(Register to, int32_t value) { add(BPF_ALU64 | BPF_MOV | BPF_K, to, R0, 0, value); }
  void copy(Register to, Register from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void add_number(Register to, int32_t value) { add(BPF_ALU64 | BPF_ADD | BPF_K, to, R0, 0, value); }
  void load(Register to, Register from, int16_t offset) { add(BPF_LDX | BPF_MEM | BPF_DW, to, from, offset, 0); }
  void store(Register to, int16_t offset, Register from) { add(BPF_STX | BPF_MEM | BPF_DW, to, from, offset, 0); }
  void store_zero(Register to, int16_t offset) { add(BPF_ST | BPF_MEM | BPF_DW, to, R0, offset, 0); }
  void call(bpf_func_id function) { add(BPF_JMP | BPF_CALL, R0, R0, 0, function); }
  void leave() { add(BPF_JMP | BPF_EXIT, R0, R0, 0, 0); }
  // The place in the stack of the program.
  void set_address(Register to, int16_t offset) { copy(to, Frame), add_number(to, offset); }
  void set_map(Register to, const base::FileDescriptor& map) {
    add(BPF_LD | BPF_IMM | BPF_DW, to, static_cast<Register>(BPF_PSEUDO_MAP_FD), 0, map.get());
    add(0, R0, R0, 0, 0);
  }
  // Jumps, if left OPERATION right. land() says where to.
  [[nodiscard]] size_t jump_if(uint8_t operation, Register left, int32_t right) {
    add(BPF_JMP | operation | BPF_K, left, R0, 0, right);
    return code_.size();
  }
  [[nodiscard]] size_t jump_if(uint8_t operation, Register left, Register right) {
    add(BPF_JMP | operation | BPF_X, left, right, 0, 0);
    return code_.size();
  }
  void land(size_t jump) { code_[jump - 1].off = static_cast<int16_t>(code_.size() - jump); }

  const std::vector<bpf_insn>& code() const { return code_; }

 private:
  void add(int code, Register to, Register from, int16_t offset, int32_t value) {
    bpf_insn one{};
    one.code = static_cast<uint8_t>(code);
    one.dst_reg = to & 0xF;
    one.src_reg = from & 0xF;
    one.off = offset;
    one.imm = value;
    code_.push_back(one);
  }
  std::vector<bpf_insn> code_;
};

constexpr int32_t kSecond = 1'000'000'000;

// Each stack moves a time of its thread and of its processor forward, and each look moves another one of the processor.
// When such a time is too far ahead of the clock, there are no stacks.
struct OfProcessor {
  uint64_t stacks, looks;
  uint64_t can_go_on;  // the thread that the processor stops now
};

constexpr int16_t kKey = -8, kNew = -16, kZero = -24;  // in the stack of a program

// The OfProcessor of this processor, or null, in R0.
void find_processor(Program& program, const base::FileDescriptor& processors) {
  using enum Program::Register;
  program.store_zero(Frame, kZero);
  program.set_map(R1, processors);
  program.set_address(R2, kZero);
  program.call(BPF_FUNC_map_lookup_elem);
}

// Runs right before the one below, in switches of all threads. Only the scheduler's own event says whether a thread can
// go on: TP_PROTO(bool preempt, prev, next, unsigned prev_state).
Program watching_switches(const base::FileDescriptor& processors) {
  using enum Program::Register;
  constexpr int16_t kPreempt = 0, kState = 3 * sizeof(uint64_t);
  Program program;
  program.load(R6, R1, kPreempt);
  program.load(R7, R1, kState);
  find_processor(program, processors);
  const size_t is_absent = program.jump_if(BPF_JEQ, R0, 0);
  program.set(R1, 1);
  const size_t is_preempted = program.jump_if(BPF_JNE, R6, 0), is_runnable = program.jump_if(BPF_JEQ, R7, 0);
  program.set(R1, 0);
  program.land(is_preempted);
  program.land(is_runnable);
  program.store(R0, offsetof(OfProcessor, can_go_on), R1);
  program.land(is_absent);
  program.set(R0, 0);
  program.leave();
  return program;
}

Program limiting(const WaitLimit& limit, const base::FileDescriptor& threads, const base::FileDescriptor& processors) {
  using enum Program::Register;
  constexpr auto kProcessor = R6, kNow = R7, kTime = R8, kThread = R9;
  constexpr int32_t kAtOnceNs = kSecond, kLooksAtOnceNs = kSecond / 20;
  Program program;
  std::vector<size_t> refused;
  const auto refuse_if_ahead = [&](int32_t ahead_ns) {
    program.copy(R2, kNow);
    program.add_number(R2, ahead_ns);
    refused.push_back(program.jump_if(BPF_JGT, kTime, R2));
  };
  const auto move_forward = [&](Program::Register place, int16_t offset, uint32_t rate) {
    program.load(kTime, place, offset);
    const size_t is_later = program.jump_if(BPF_JGE, kTime, kNow);
    program.copy(kTime, kNow);
    program.land(is_later);
    program.add_number(kTime, kSecond / static_cast<int32_t>(std::max<uint32_t>(rate, 1)));
    program.store(place, offset, kTime);
  };
  program.call(BPF_FUNC_ktime_get_ns);
  program.copy(kNow, R0);
  find_processor(program, processors);
  refused.push_back(program.jump_if(BPF_JEQ, R0, 0));
  program.copy(kProcessor, R0);
  program.load(kTime, kProcessor, offsetof(OfProcessor, can_go_on));
  refused.push_back(program.jump_if(BPF_JNE, kTime, 0));
  program.load(kTime, kProcessor, offsetof(OfProcessor, looks));
  refuse_if_ahead(kLooksAtOnceNs);
  program.load(kTime, kProcessor, offsetof(OfProcessor, stacks));
  refuse_if_ahead(kAtOnceNs);
  move_forward(kProcessor, offsetof(OfProcessor, looks), limit.looks_of_processor);
  program.call(BPF_FUNC_get_current_pid_tgid);
  program.store(Frame, kKey, R0);
  program.set_map(R1, threads);
  program.set_address(R2, kKey);
  program.call(BPF_FUNC_map_lookup_elem);
  program.copy(kThread, R0);
  const size_t is_known = program.jump_if(BPF_JNE, R0, 0);
  program.store_zero(Frame, kNew);
  program.set_map(R1, threads);
  program.set_address(R2, kKey);
  program.set_address(R3, kNew);
  program.set(R4, BPF_ANY);
  program.call(BPF_FUNC_map_update_elem);
  program.set_address(kThread, kNew);
  program.land(is_known);
  program.load(kTime, kThread, 0);
  refuse_if_ahead(kAtOnceNs);
  move_forward(kThread, 0, limit.of_thread);
  move_forward(kProcessor, offsetof(OfProcessor, stacks), limit.of_processor);
  program.set(R0, 1);
  program.leave();
  for (const size_t jump : refused) program.land(jump);
  program.set(R0, 0);
  program.leave();
  return program;
}

base::FileDescriptor load_program(bpf_prog_type type, const Program& program) {
  constexpr char kLicense[] = "Apache-2.0";
  bpf_attr attributes{};
  attributes.prog_type = type;
  attributes.insn_cnt = static_cast<uint32_t>(program.code().size());
  attributes.insns = reinterpret_cast<uint64_t>(program.code().data());
  attributes.license = reinterpret_cast<uint64_t>(kLicense);
  return call_bpf(BPF_PROG_LOAD, attributes);
}

}  // namespace

WaitLimiter load_wait_limit(const WaitLimit& limit) {
  const base::FileDescriptor threads =
      make_map(BPF_MAP_TYPE_LRU_HASH, sizeof(uint64_t), sizeof(uint64_t), limit.threads);
  const base::FileDescriptor processors = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(uint32_t), sizeof(OfProcessor), 1);
  if (!threads || !processors) return {};
  WaitLimiter limiter;
  limiter.program = load_program(BPF_PROG_TYPE_PERF_EVENT, limiting(limit, threads, processors));
  if (!limiter.program) return {};
  if (const auto watching = load_program(BPF_PROG_TYPE_RAW_TRACEPOINT, watching_switches(processors)); watching) {
    constexpr char kSwitch[] = "sched_switch";
    bpf_attr attributes{};
    attributes.raw_tracepoint.name = reinterpret_cast<uint64_t>(kSwitch);
    attributes.raw_tracepoint.prog_fd = static_cast<uint32_t>(watching.get());
    limiter.switches = call_bpf(BPF_RAW_TRACEPOINT_OPEN, attributes);
  }
  return limiter;
}

}  // namespace kymo::sample
