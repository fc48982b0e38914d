#include "inject/torch/operators.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/print.h"
#include "inject/adapter.h"
#include "inject/open_ranges.h"
#include "inject/python_stack.h"
#include "kymo/annotate.h"

namespace kymo::inject::torch {
namespace {

// ---- PyTorch's structures, as they are on 64-bit systems

class RecordFunction;  // at::RecordFunction, an operator that runs: only its address is used, and read_word()

struct ObserverContext {
  virtual ~ObserverContext() = default;
};

enum Scope : uint8_t { kFunction = 0, kBackwardFunction = 1, kTorchScriptFunction = 2, kUserScope = 7 };

struct Callback {  // at::RecordFunctionCallback, which is passed by value
  std::unique_ptr<ObserverContext> (*start)(const RecordFunction& call);
  void (*end)(const RecordFunction& call, ObserverContext* context);
  double sampling_probability = 1;
  // Of 10 scopes in the known versions, then needs_inputs, needs_outputs, needs_ids: all of them false.
  std::array<bool, 16> scopes{};
};
static_assert(sizeof(Callback) == 40);

// The text or the schema of a new scope. A version before 2.2 takes a const char* instead.
class Schema;
using Descriptor = std::variant<std::string_view, std::reference_wrapper<const Schema>>;

struct Functions {
  uint64_t (*add)(Callback callback);
  void (*remove)(uint64_t handle);
  const char* (*name)(const RecordFunction* call);
  // For the test. One of the last two is there.
  void (*make)(void* call, Scope scope);
  void (*destroy)(void* call);
  void (*begin)(void* call, Descriptor name, int64_t sequence);
  void (*begin_with_text)(void* call, const char* name, int64_t sequence);
  // For the arrows from operators to backward functions.
  uint64_t (*next_sequence)();
  uint64_t (*this_thread)();
};

template <class Function>
bool find(void* library, const char* symbol, Function*& function) noexcept {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  return function != nullptr;
}

bool find_functions(void* library, Functions& found) noexcept {
  const bool both = find(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", found.add) &&
                    find(library, "_ZN2at14removeCallbackEm", found.remove) &&
                    find(library, "_ZNK2at14RecordFunction4nameEv", found.name) &&
                    find(library, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE", found.make) &&
                    find(library, "_ZN2at14RecordFunctionD1Ev", found.destroy) &&
                    find(library, "_ZN2at15sequence_number4peekEv", found.next_sequence) &&
                    find(library, "_ZN2at14RecordFunction15currentThreadIdEv", found.this_thread);
  return both && (find(library,
                       "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_traitsIcEE"
                       "St17reference_wrapperIKN3c1014FunctionSchemaEEEEl",
                       found.begin) ||
                  find(library, "_ZN2at14RecordFunction6beforeEPKcl", found.begin_with_text));
}

// A word of an operator. The offset is inside of it, as the test found.
int64_t read_word(const RecordFunction& call, size_t offset) noexcept {
  int64_t word = 0;
  memcpy(&word, reinterpret_cast<const std::byte*>(&call) + offset, sizeof word);
  return word;
}

// Behind the sequence number: the inputs, from 2.0 on a map of named inputs, the outputs, and then the thread of the
// forward operator. Where the map is not there, its place is never 0 in a backward function.
constexpr size_t kForwardThread = 48, kForwardThreadBehindMap = 104;

// ---- The adapter

struct Operators {
  std::mutex control;
  Functions functions{};
  size_t sequence_offset = 0;  // 0: not tested yet
  bool is_refused = false;
  std::array<uint64_t, 3> handles{};
  size_t added = 0;  // of these
};
Operators& operators() {
  static Immortal<Operators> storage;
  static Operators& made = storage.make();
  return made;
}

// ---- Ranges

using Ranges = ThreadRanges<record::Interface::Torch>;

enum class Kind : uint8_t { Operator, Backward, User };

constexpr Label kBackwardFlow("fwdbwd", "torch");

// PyTorch's numbers of threads that ran operators which are differentiated, a bit for each: what a backward function
// names as its thread is compared with them.
constexpr uint64_t kMaxThreads = 4096;
constinit std::array<std::atomic<uint64_t>, kMaxThreads / 64> forward_threads{};

void note_forward_thread(uint64_t thread) noexcept {
  if (thread >= kMaxThreads) return;
  std::atomic<uint64_t>& word = forward_threads[thread / 64];
  const uint64_t bit = uint64_t{1} << thread % 64;
  if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
}

bool is_forward_thread(uint64_t thread) noexcept {
  return thread < kMaxThreads && (forward_threads[thread / 64].load(std::memory_order_relaxed) >> thread % 64 & 1) != 0;
}

// Sequence numbers are those of a thread. The result is not a number that a program would choose for its own flow.
uint64_t flow_of(uint64_t thread, int64_t sequence) noexcept {
  const uint64_t mixed = (thread * 0x9e3779b97f4a7c15u) ^ static_cast<uint64_t>(sequence);
  return (mixed * 0xbf58476d1ce4e5b9u) | uint64_t{1} << 63;
}

void end_flow(const RecordFunction& call, int64_t sequence) noexcept {
  const size_t offset = operators().sequence_offset;
  auto thread = static_cast<uint64_t>(read_word(call, offset + kForwardThread));
  if (thread == 0) thread = static_cast<uint64_t>(read_word(call, offset + kForwardThreadBehindMap));
  if (is_forward_thread(thread)) kymo::flow_end(kBackwardFlow, flow_of(thread, sequence));
}

// The node of the backward graph gets the number that is next when its operator begins, so that the next number is
// larger when the operator ends. Operators that are nested have the same number: the innermost one made the node, and
// ends first.
void begin_flow(int64_t sequence) noexcept {
  thread_local constinit int64_t last __attribute__((tls_model("initial-exec"))) = -1;
  if (sequence <= last || operators().functions.next_sequence() <= static_cast<uint64_t>(sequence)) return;
  last = sequence;
  const uint64_t thread = operators().functions.this_thread();
  note_forward_thread(thread);
  kymo::flow_begin(kBackwardFlow, flow_of(thread, sequence));
}

bool has_operator(const OpenRanges& open) noexcept {
  return open.has(static_cast<uint8_t>(Kind::Operator)) || open.has(static_cast<uint8_t>(Kind::Backward));
}

template <Kind kKind>
std::unique_ptr<ObserverContext> begins(const RecordFunction& call) {
  OpenRanges* const open = Ranges::get();
  if (open == nullptr) return nullptr;
  if (kKind != Kind::User && !has_operator(*open)) state_python_stack();
  const char* const name = operators().functions.name(&call);
  const int64_t sequence = read_word(call, operators().sequence_offset);
  const kymo_arg argument = kymo::arg("Sequence number", sequence);
  const uint32_t arguments = kKind != Kind::User && sequence >= 0 ? 1 : 0;
  // No argument without a name could fill braces in the name: they are text.
  const Label label(name != nullptr ? name : "operator", kKind == Kind::User ? "user_annotation" : "cpu_op");
  open->begin(static_cast<uint8_t>(kKind), &call, [&](uint32_t receivers) {
    kymo_begin_label_heard(&label, &argument, arguments, receivers);
    if (kKind == Kind::Backward && arguments != 0) end_flow(call, sequence);
  });
  return nullptr;
}

template <Kind kKind>
void ends(const RecordFunction& call, ObserverContext*) {
  OpenRanges* const open = Ranges::if_there();
  if (open == nullptr || !open->has(static_cast<uint8_t>(kKind), &call)) return;  // it began elsewhere, or before
  if (const int64_t sequence = read_word(call, operators().sequence_offset); kKind == Kind::Operator && sequence >= 0)
    begin_flow(sequence);
  open->end(static_cast<uint8_t>(kKind), &call);
}

template <Kind kKind>
constexpr Callback callback_of(std::initializer_list<Scope> scopes) noexcept {
  Callback callback{begins<kKind>, ends<kKind>};
  for (const Scope scope : scopes) callback.scopes[scope] = true;
  return callback;
}

// ---- The test

constexpr size_t kCallBytes = 4096;  // more than an operator has in any version
constexpr int64_t kTestSequence = 0x4b796d6f54657374;
constexpr const char* kTestName = "kymo test";

struct Test {
  alignas(64) std::byte call[kCallBytes]{};
  size_t sequence_offset = 0;
  bool has_begun = false, has_ended = false;
};
constinit thread_local Test* this_test = nullptr;  // other threads run operators meanwhile

std::unique_ptr<ObserverContext> test_begins(const RecordFunction& call) {
  Test* const test = this_test;
  if (test == nullptr || static_cast<const void*>(&call) != test->call) return nullptr;
  const char* const name = operators().functions.name(&call);
  test->has_begun = name != nullptr && std::string_view(name) == kTestName;
  for (size_t at = 0; at + kForwardThreadBehindMap + sizeof(int64_t) <= kCallBytes; at += sizeof(int64_t))
    if (read_word(call, at) == kTestSequence) test->sequence_offset = at;
  return nullptr;
}

void test_ends(const RecordFunction& call, ObserverContext*) {
  if (this_test != nullptr && static_cast<const void*>(&call) == this_test->call) this_test->has_ended = true;
}

// Where an operator has its sequence number; 0: the structures are not as expected.
size_t tested_offset(const Functions& functions) {
  const auto test = std::make_unique<Test>();
  this_test = test.get();
  Callback callback{test_begins, test_ends};
  callback.scopes[kUserScope] = true;
  const uint64_t handle = functions.add(callback);
  functions.make(test->call, kUserScope);
  if (functions.begin != nullptr)
    functions.begin(test->call, std::string_view(kTestName), kTestSequence);
  else
    functions.begin_with_text(test->call, kTestName, kTestSequence);
  functions.destroy(test->call);
  functions.remove(handle);
  this_test = nullptr;
  return test->has_begun && test->has_ended ? test->sequence_offset : 0;
}

// ---- Start and end

// Any thread may call these two, any number of times. Neither fails.
void activate() noexcept {
  Operators& self = operators();
  const std::lock_guard lock(self.control);
  // While nothing records, only the scopes of the program may be iterations.
  const size_t wanted = record::recording() ? self.handles.size() : 1;
  if (self.added >= wanted || self.is_refused) return;
  try {
    if (self.sequence_offset == 0) self.sequence_offset = tested_offset(self.functions);
    if (self.sequence_offset == 0) {
      self.is_refused = true;
      return base::say_to_user("PyTorch's operators are not recorded: this version of libtorch has another layout", "");
    }
    const Callback callbacks[] = {callback_of<Kind::User>({kUserScope}),
                                  callback_of<Kind::Operator>({kFunction, kTorchScriptFunction}),
                                  callback_of<Kind::Backward>({kBackwardFunction})};
    for (; self.added < wanted; ++self.added) self.handles[self.added] = self.functions.add(callbacks[self.added]);
  } catch (...) {  // of libtorch, or no memory
    self.is_refused = true;
  }
}

void deactivate() noexcept {
  Operators& self = operators();
  const std::lock_guard lock(self.control);
  try {
    while (self.added != 0) self.functions.remove(self.handles[--self.added]);
  } catch (...) {  // of libtorch: they find that nothing records
  }
}

constexpr Adapter kAdapter{record::Interface::Torch, activate, deactivate, true};

// Null: the process has not loaded it. It stays loaded from now on. Distributions add a version to its name.
void* loaded_library() noexcept {
  char path[4096] = "";
  dl_iterate_phdr(
      [](dl_phdr_info* image, size_t, void* found) {
        const char* const slash = image->dlpi_name != nullptr ? strrchr(image->dlpi_name, '/') : nullptr;
        if (slash == nullptr || strncmp(slash, "/libtorch_cpu.so", strlen("/libtorch_cpu.so")) != 0) return 0;
        strncpy(static_cast<char*>(found), image->dlpi_name, sizeof path - 1);
        return 1;
      },
      path);
  return *path != '\0' ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
}

// libkymo_torch.so reports the same operators, with more about each.
bool has_own_client() noexcept { return dlsym(RTLD_DEFAULT, "kymo_link_torch") != nullptr; }

}  // namespace

bool is_in_operator() noexcept {
  const OpenRanges* const open = Ranges::if_there();
  return open != nullptr && has_operator(*open);
}

void start_if_loaded() noexcept {
  static constinit std::atomic<bool> is_done{false};
  if (is_done.load(std::memory_order_acquire)) return;
  void* const library = loaded_library();
  if (library == nullptr || is_done.exchange(true)) return;
  if (!is_wanted(record::Interface::Torch) || has_own_client()) return;
  if (!find_functions(library, operators().functions))
    return base::say_to_user("PyTorch's operators are not recorded: libtorch is older than 1.13, or lacks ",
                             "at::addGlobalCallback");
  start(kAdapter);
}

}  // namespace kymo::inject::torch
