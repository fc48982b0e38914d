#include "analyze/memory/stacks.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/text.h"
#include "trace/model.h"

namespace kymo::memory {

namespace {

constexpr size_t kMostStackNodes = 16'000'000;  // a gigabyte of nodes, because a trace may contain any number of them
constexpr size_t kMostFilesOfAProcess = 10'000;
constexpr size_t kMostNamesOfAProcess = 1'000'000;
constexpr uint64_t kFirstKernelAddress = uint64_t{1} << 63;
constexpr size_t kMostFramesOfAStack = 10'000;  // more than any recorder captures

constexpr uint64_t spread(uint64_t bits) {
  bits *= 0x9E3779B97F4A7C15u;
  return bits ^ (bits >> 29);
}

std::string_view cut_text(uint64_t why) {
  switch (static_cast<Stacks::Cut>(why)) {
    case Stacks::Cut::NoTables:
      return "(called from code without unwind tables)";
    case Stacks::Cut::OtherStack:
      return "(on a stack that is not the thread's own)";
    case Stacks::Cut::TooDeep:
      return "(called from deeper than stacks are followed)";
    case Stacks::Cut::CopyTooShort:
      return "(the stack is longer than its copy)";
  }
  return "(the rest is not known)";
}

// Functions that nobody calls. The tables of some of them do not say so.
bool is_outermost(std::string_view function) {
  constexpr std::string_view kAll[] = {"_start",
                                       "_dl_start_user",
                                       "clone",
                                       "__clone",
                                       "clone3",
                                       "__clone3",
                                       "__GI___clone",
                                       "__GI___clone3",
                                       "runtime.goexit",
                                       "runtime.mstart",
                                       "runtime.goexit.abi0",
                                       "runtime.rt0_go",
                                       "runtime.rt0_go.abi0"};
  return std::ranges::find(kAll, function) != std::end(kAll);
}

std::string code_of(std::string_view program) { return base::format("(code of {})", program); }

// Programs that make code while they run.
bool is_runtime(std::string_view program) {
  constexpr std::string_view kAll[] = {"node",   "java",   "python", "pypy", "ruby",   "php",      "deno",   "bun",
                                       "dotnet", "luajit", "julia",  "mono", "qemu-",  "wasmtime", "wasmer", "chrome",
                                       "d8",     "beam.",  "sbcl",   "gjs",  "racket", "electron", "firefox"};
  return std::ranges::any_of(kAll, [&](std::string_view one) { return program.starts_with(one); });
}

}  // namespace

size_t Stacks::HashPlace::operator()(const Place& place) const noexcept {
  return spread(spread(spread(place.value) + place.era) + (uint64_t{place.process} << 2) +
                static_cast<uint64_t>(place.kind));
}

Stacks::Stacks() : nodes_(1) {}

StackId Stacks::node(StackId caller, const Place& place) {
  const auto key = [&](uint32_t number) { return uint64_t{caller} << 32 | number; };
  if (nodes_.size() >= kMostStackNodes) {
    const auto known_place = place_ids_.find(place);
    if (known_place == place_ids_.end()) return caller;
    const auto known = node_ids_.find(key(known_place->second));
    return known == node_ids_.end() ? caller : known->second;
  }
  const auto [found_place, is_new_place] = place_ids_.try_emplace(place, static_cast<uint32_t>(places_.size()));
  if (is_new_place) places_.push_back(place);
  const auto [found, is_new] = node_ids_.try_emplace(key(found_place->second), static_cast<StackId>(nodes_.size()));
  if (is_new) nodes_.push_back({caller, found_place->second});
  return found->second;
}

Stacks::Process& Stacks::process(uint32_t number) {
  if (number >= processes_.size()) processes_.resize(number + size_t{1});
  return processes_[number];
}

bool Stacks::is_cut(const symbols::Frame& frame) {
  constexpr Cut kAll[] = {Cut::NoTables, Cut::OtherStack, Cut::TooDeep, Cut::CopyTooShort};
  return (frame.module.empty() && frame.function == "(unknown)") ||
         std::ranges::any_of(kAll, [&](Cut why) { return is_cut(frame, why); });
}

bool Stacks::is_cut(const symbols::Frame& frame, Cut why) {
  return frame.module.empty() && frame.function == cut_text(static_cast<uint64_t>(why));
}

StackId Stacks::cut(Cut why) { return node(0, {Kind::Cut, 0, 0, static_cast<uint64_t>(why)}); }

StackId Stacks::called(StackId caller, uint32_t process_number, uint64_t return_address) {
  return node(caller, {Kind::Code, process_number, process(process_number).era, return_address});
}

void Stacks::loaded(uint32_t process_number, std::string path, std::string build_id, uint64_t base, uint64_t size) {
  Process& one = process(process_number);
  size = std::min(size, UINT64_MAX - base);
  bool is_known = false, takes_a_place = false;
  for (const LoadedFile& file : one.files) {
    const bool same = file.path == path && file.build_id == build_id && file.base == base;
    is_known |= same && file.era == one.era;
    takes_a_place |= !same && base < file.base + file.size && file.base < base + size;
  }
  if (is_known || one.files.size() >= kMostFilesOfAProcess) return;
  if (takes_a_place) ++one.era;  // from now on, these addresses have another meaning
  one.files.push_back({std::move(path), std::move(build_id), base, size, one.era});
}

void Stacks::runs(uint32_t process_number, const trace::Origin& origin) {
  process(process_number).session = origin.session;
  process(process_number).program = trace::program_name(origin);
}

void Stacks::states(const trace::WriterInfo& writer) {
  for (const auto& [id, stated] : writer.frames) {
    const auto module = writer.modules.find(stated.module);
    if (stated.offset == 0 || module == writer.modules.end()) continue;  // of an imported stack
    FileNames& names = stated_[{writer.origin.session, module->second.path, module->second.build_id}];
    std::vector<symbols::Frame>& frames = names[stated.offset];
    if (!frames.empty()) frames.back().inlined = true;  // the next one contains it
    frames.push_back({stated.function, stated.file, stated.line, module->second.path, false});
  }
}

void Stacks::named(uint32_t process_number, uint64_t address, symbols::Frame frame) {
  Process& one = process(process_number);
  if (one.names.size() < kMostNamesOfAProcess) one.names[address] = std::move(frame);
}

StackId Stacks::listed(uint32_t process_number, const trace::WriterInfo& writer, uint32_t stack) {
  const auto [entry, is_new] = process(process_number).lists.try_emplace(stack, 0);
  if (!is_new) return entry->second;
  const auto list = writer.stacks.find(stack);
  if (list == writer.stacks.end()) return 0;
  StackId id = 0;
  for (auto frame = list->second.frames.rbegin(); frame != list->second.frames.rend(); ++frame) {
    const auto named = writer.frames.find(*frame);
    if (named == writer.frames.end()) continue;
    const auto [known, first_time] =
        process(process_number).named.try_emplace(*frame, static_cast<uint32_t>(named_.size()));
    if (first_time) {
      symbols::Frame& made = named_.emplace_back();
      made.function = named->second.function;
      made.file = named->second.file;
      made.line = named->second.line;
      if (const auto module = writer.modules.find(named->second.module); module != writer.modules.end())
        made.module = module->second.path;
    }
    id = node(id, {Kind::Named, process_number, 0, known->second});
  }
  entry->second = id;
  return id;
}

// The file that was loaded at this address when the address was recorded. A file is stated before the first address in
// it, or a moment later by another thread.
const Stacks::LoadedFile* Stacks::file_at(const Place& place) const {
  if (place.process >= processes_.size() || place.value == 0) return nullptr;
  const LoadedFile* found = nullptr;
  for (const LoadedFile& file : processes_[place.process].files) {
    const uint64_t code = place.value - 1;
    if (code < file.base || code >= file.base + file.size) continue;
    if (found == nullptr || file.era <= place.era) found = &file;
  }
  return found == nullptr || found->path.empty() ? nullptr : found;
}

std::vector<symbols::Frame> Stacks::look_up(const Place& place) {
  if (place.kind == Kind::Named) return {named_[place.value]};
  symbols::Frame frame;
  if (place.kind == Kind::Cut) {
    frame.function = cut_text(place.value);
    return {frame};
  }
  const Process& process = processes_[place.process];
  const auto name = process.names.find(place.value);
  if (const LoadedFile* const file = file_at(place)) {
    std::vector<symbols::Frame> frames = frames_in(process, *file, place.value - file->base);
    // Older traces name code of files that were lost in this way.
    if (name != process.names.end() && missing_.contains(file->path)) frames.back().function = name->second.function;
    return frames;
  }
  const bool is_of_kernel = place.value >= kFirstKernelAddress;
  if (name != process.names.end()) frame = name->second;
  if (is_of_kernel) frame.module = "[kernel]";
  if (name != process.names.end()) return {frame};
  if (is_of_kernel)
    frame.function = "[kernel]";
  else
    frame.function = is_runtime(process.program) ? code_of(process.program) : base::format("{:#x}", place.value);
  return {frame};
}

const std::vector<symbols::Frame>* Stacks::stated_at(const Process& process, const LoadedFile& file,
                                                     uint64_t offset) const {
  const auto names = stated_.find({process.session, file.path, file.build_id});
  if (names == stated_.end()) return nullptr;
  const auto found = names->second.find(offset);
  return found == names->second.end() ? nullptr : &found->second;
}

// What the trace states is of the file that was loaded. Only debug information may have been installed since.
std::vector<symbols::Frame> Stacks::frames_in(const Process& process, const LoadedFile& file, uint64_t offset) {
  const bool is_in_memory = file.path.starts_with("/memfd:");
  const std::vector<symbols::Frame>* const stated = stated_at(process, file, offset);
  if (stated != nullptr && (stated->front().line != 0 || !symbols::FileSymbols::has_debug_file(file.build_id)))
    return *stated;
  if (is_in_memory && !process.program.empty()) {
    symbols::Frame made;
    made.function = code_of(process.program);
    return {made};
  }
  const std::vector<symbols::Frame> frames = symbols_.at_return_address(file.path, file.build_id, offset);
  if (symbols_.has_file(file.path, file.build_id)) return frames;
  if (stated != nullptr) return *stated;
  if (file.path.starts_with('/') && !is_in_memory) missing_.insert(file.path);
  return frames;
}

// A caller is older than what it calls.
StackId Stacks::common(StackId a, StackId b) const {
  while (a != b) (a > b ? a : b) = nodes_[a > b ? a : b].caller;
  return a;
}

const std::vector<symbols::Frame>& Stacks::frames_at(uint32_t place) {
  const auto [found, is_new] = known_.try_emplace(place);
  if (is_new) found->second = look_up(places_[place]);
  return found->second;
}

std::vector<symbols::Frame> Stacks::frames(StackId stack) {
  std::vector<symbols::Frame> all;
  while (stack != 0 && stack < nodes_.size() && all.size() < kMostFramesOfAStack) {
    const std::vector<symbols::Frame>& here = frames_at(nodes_[stack].place);
    all.insert(all.end(), here.begin(), here.end());
    stack = nodes_[stack].caller;
  }
  if (all.size() >= 2 && is_cut(all.back()) && is_outermost(all[all.size() - 2].function)) all.pop_back();
  return all;
}

std::optional<Stacks::Code> Stacks::code(StackId stack) const {
  if (stack == 0 || stack >= nodes_.size() || places_[nodes_[stack].place].kind != Kind::Code) return std::nullopt;
  const Place& place = places_[nodes_[stack].place];
  const LoadedFile* const file = file_at(place);
  if (file == nullptr) return std::nullopt;
  return Code{file->path, file->build_id, place.value - file->base};
}

namespace {

bool is_in_memory(const symbols::Frame& frame) {
  return frame.file.starts_with('<') && !frame.file.starts_with("<frozen");
}

bool is_python(const symbols::Frame& frame) {
  return frame.file.ends_with(".py") || is_in_memory(frame) || (!frame.file.empty() && frame.file == frame.module);
}

}  // namespace

OwnCode::OwnCode(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::string path = std::filesystem::absolute(folder).lexically_normal().string();
    folders_.push_back(path.ends_with('/') ? path : path + '/');
  }
}

bool OwnCode::contains(const symbols::Frame& frame) const {
  if (!is_python(frame)) return false;
  const auto is_in = [&](const std::string& folder) {
    return std::filesystem::absolute(frame.file).lexically_normal().string().starts_with(folder);
  };
  if (!folders_.empty()) return std::ranges::any_of(folders_, is_in);
  const auto has = [&](std::string_view part) { return frame.file.find(part) != frame.file.npos; };
  return !has("/site-packages/") && !has("/dist-packages/") && !has("/lib/python3") && !has("/torchinductor_") &&
         !frame.file.starts_with("<frozen");
}

// Text that was executed is often made by a package: "<string>", "<eval_with_key>.1".
std::vector<symbols::Frame>::const_iterator OwnCode::innermost(const std::vector<symbols::Frame>& frames) const {
  const auto in_file =
      std::ranges::find_if(frames, [&](const auto& one) { return contains(one) && !is_in_memory(one); });
  return in_file != frames.end() ? in_file
                                 : std::ranges::find_if(frames, [&](const auto& one) { return contains(one); });
}

size_t first_informative_frame(const std::vector<symbols::Frame>& frames) {
  // Functions of the C library, of the C++ library, and wrappers of common libraries and languages.
  constexpr std::string_view kAllocating[] = {"operator new",     "malloc",
                                              "calloc",           "realloc",
                                              "posix_memalign",   "aligned_alloc",
                                              "memalign",         "valloc",
                                              "strdup",           "strndup",
                                              "__libc",           "__GI_",
                                              "__gnu_cxx::",      "g_malloc",
                                              "g_realloc",        "g_strdup",
                                              "g_slice_",         "xmalloc",
                                              "xcalloc",          "xrealloc",
                                              "xstrdup",          "PyMem_",
                                              "_PyMem_",          "PyObject_M",
                                              "_PyObject_",       "alloc::alloc::",
                                              "__rust_alloc",     "__rdl_alloc",
                                              "at::detail::",     "at::native::empty",
                                              "at::empty",        "at::_ops::empty",
                                              "c10::alloc_cpu",   "c10::DefaultCPUAllocator",
                                              "c10::StorageImpl", "c10::DefaultMobileCPUAllocator"};
  // The allocator, the dispatcher and the recorder of stacks of PyTorch.
  constexpr std::string_view kOfTorch[] = {"c10::cuda::",
                                           "c10::hip::",
                                           "c10::xpu::",
                                           "c10::impl::",
                                           "at::(anonymous namespace)::",
                                           "torch::unwind::",
                                           "torch::CapturedTraceback",
                                           "??"};
  const auto is_not_of_torch = [&](const symbols::Frame& frame) {
    return is_python(frame) && frame.file.find("-packages/torch/") == frame.file.npos;
  };
  static const OwnCode own;
  for (const auto& wanted :
       {own.innermost(frames), std::ranges::find_if(frames, is_not_of_torch), std::ranges::find_if(frames, is_python)})
    if (wanted != frames.end()) return static_cast<size_t>(wanted - frames.begin());
  const auto is_allocating = [&](const symbols::Frame& frame) {
    const std::string_view function = frame.function;
    // The name of a template function begins with its result: "at::TensorBase at::detail::_empty_generic<long>(…)".
    const size_t arguments = std::min(function.find('('), function.size());
    const auto begins_name = [&](std::string_view begin) {
      if (function.starts_with(begin)) return true;
      const size_t at = function.find(" " + std::string(begin));
      return begin.find("::") != begin.npos && at < arguments;
    };
    if (std::ranges::any_of(kAllocating, begins_name) || std::ranges::any_of(kOfTorch, begins_name)) return true;
    // "std::vector<…>::reserve(…)" and "void std::vector<…>::emplace_back(…)", but not "f(std::vector<…>)".
    const size_t at = function.find("std::");
    return at != std::string_view::npos && function.find('(') > at && function.substr(0, at).find('<') == function.npos;
  };
  const auto informative = std::ranges::find_if_not(frames, is_allocating);
  return informative == frames.end() ? 0 : static_cast<size_t>(informative - frames.begin());
}

namespace {

constexpr uint64_t kFirstNode = 16;  // below: roots (docs/heap.md)
constexpr uint64_t kDefaultPeriodNs = 1'000'000;

// "1 kHz", "250 Hz". 0: the writer does not say it.
uint64_t period_of(const trace::WriterInfo& writer) {
  constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
  for (const auto& [name, value] : writer.origin.metadata) {
    if (name != "sampling") continue;
    const uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    const uint64_t hertz = value.ends_with(" kHz") ? 1000 * std::min<uint64_t>(number, 1'000'000) : number;
    if (hertz != 0 && hertz <= kNanosecondsPerSecond) return kNanosecondsPerSecond / hertz;
  }
  return 0;
}

}  // namespace

// The classes are recognized by names and fields, because a file may contain anything.
SampleStacks::Meaning SampleStacks::meaning_of(const trace::EventClass& one) {
  using trace::FieldType;
  const auto has = [&](std::initializer_list<std::pair<std::string_view, bool>> fields) {  // name, and whether a text
    return std::equal(one.fields.begin(), one.fields.end(), fields.begin(), fields.end(),
                      [](const trace::Field& field, const auto& wanted) {
                        return field.name == wanted.first && (field.type == FieldType::String) == wanted.second &&
                               field.type != FieldType::Double;
                      });
  };
  if (one.category == "cpu" && one.name == "sample" && has({{"node", false}})) return Meaning::Sample;
  if (one.category == "cpu" && one.name == "on CPU" && has({{"ns", false}})) return Meaning::OnCpu;
  if (one.category == "cpu" && one.name == "off CPU" && has({{"ns", false}, {"preempted", false}}))
    return Meaning::OffCpu;
  if (one.category == "cpu" && one.name == "off CPU" && has({{"ns", false}, {"preempted", false}, {"node", false}}))
    return Meaning::Wait;
  if (one.category == "wait" && (has({{"object", false}, {"node", false}, {"holder", false}}) ||
                                 has({{"object", true}, {"node", false}, {"holder", false}})))  // of an imported file
    return Meaning::RecordedWait;
  if (!trace::is_definition(one)) return Meaning::None;
  if (one.name == "python stack" && has({{"node", false}})) return Meaning::PythonStack;
  if (one.name == "python stack of the main thread" && has({{"node", false}})) return Meaning::MainPythonStack;
  if (one.name == "stack node" && has({{"node", false}, {"parent", false}, {"address", false}})) return Meaning::Node;
  if (one.name == "module" && has({{"path", true}, {"base", false}, {"size", false}, {"build_id", true}}))
    return Meaning::Module;
  if (one.name == "symbol" && has({{"address", false}, {"name", true}})) return Meaning::Symbol;
  if (one.name == "symbol" && has({{"address", false}, {"name", true}, {"file", true}, {"line", false}}))
    return Meaning::Python;
  return Meaning::None;
}

SampleStacks::SampleStacks(Stacks& stacks, const trace::Reader& reader) : stacks_(stacks) {
  for (const auto& [id, writer] : reader.writers()) stacks.states(writer);
}

bool SampleStacks::are_in(const trace::WriterInfo& writer) {
  return std::ranges::any_of(writer.classes, [](const auto& one) { return meaning_of(one.second) == Meaning::Sample; });
}

bool SampleStacks::has_python_stacks(const trace::WriterInfo& writer) {
  return std::ranges::any_of(writer.classes, [](const auto& one) {
    const Meaning meaning = meaning_of(one.second);
    return meaning == Meaning::PythonStack || meaning == Meaning::MainPythonStack;
  });
}

bool SampleStacks::is_recorded_wait(const trace::EventClass& one) { return meaning_of(one) == Meaning::RecordedWait; }

StackId SampleStacks::stack_of(const Nodes& nodes, uint64_t node) {
  if (const auto known = nodes.find(node); known != nodes.end()) return known->second;
  const bool is_cut = node < kFirstNode && node >= static_cast<uint64_t>(Stacks::Cut::NoTables) &&
                      node <= static_cast<uint64_t>(Stacks::Cut::CopyTooShort);
  return is_cut ? stacks_.cut(static_cast<Stacks::Cut>(node)) : 0;
}

// A recorded point has a node of its thread, an imported one has a stack of the file's tables.
StackId SampleStacks::stack_of_point(const trace::WriterInfo& info, const Writer& writer, uint32_t track, uint64_t id,
                                     uint64_t node) {
  if (id != 0 && id <= UINT32_MAX) return stacks_.listed(writer.number, info, static_cast<uint32_t>(id));
  return stack_of(nodes_[{info.id, track}], node);
}

SampleStacks::Taken SampleStacks::take(const trace::WriterInfo& info, uint32_t track,
                                       const trace::EventClass& event_class, uint64_t id, const Row& row) {
  const auto [entry, is_new] = writers_.try_emplace(info.id);
  Writer& writer = entry->second;
  if (is_new) {
    writer.number = static_cast<uint32_t>(writers_.size() - 1);
    for (const auto& [id, one] : info.classes) writer.classes[id].meaning = meaning_of(one);
    stacks_.runs(writer.number, info.origin);
  }
  const auto found = writer.classes.find(event_class.id);
  if (found == writer.classes.end() || row.size() != event_class.fields.size()) return {};
  switch (found->second.meaning) {
    case Meaning::Sample:
      return {.kind = Kind::Sample, .stack = stack_of_point(info, writer, track, id, row[0].bits)};
    case Meaning::Wait:
      return {.kind = Kind::OffCpu,
              .stack = stack_of_point(info, writer, track, id, row[2].bits),
              .has_stack = true,
              .ns = row[0].bits,
              .is_preempted = row[1].bits != 0};
    case Meaning::PythonStack:
      return {.kind = Kind::PythonStack, .stack = stack_of_point(info, writer, track, id, row[0].bits)};
    case Meaning::MainPythonStack:
      return {.kind = Kind::MainPythonStack, .stack = stack_of_point(info, writer, track, id, row[0].bits)};
    case Meaning::RecordedWait:
      return {.kind = Kind::RecordedWait, .stack = stack_of_point(info, writer, track, id, row[1].bits)};
    case Meaning::OffCpu:
      return {.kind = Kind::OffCpu, .ns = row[0].bits, .is_preempted = row[1].bits != 0};
    case Meaning::OnCpu:
      return {.kind = Kind::OnCpu, .ns = row[0].bits};
    case Meaning::Node: {
      Nodes& nodes = nodes_[{info.id, track}];
      nodes[row[0].bits] = stacks_.called(stack_of(nodes, row[1].bits), writer.number, row[2].bits);
      return {};
    }
    case Meaning::Module:
      stacks_.loaded(writer.number, std::string(row[0].text), std::string(row[3].text), row[1].bits, row[2].bits);
      return {};
    case Meaning::Symbol:
      stacks_.named(writer.number, row[0].bits, {.function = std::string(row[1].text), .file = {}, .module = {}});
      return {};
    case Meaning::Python: {
      const std::string file(row[2].text);
      stacks_.named(writer.number, row[0].bits,
                    {std::string(row[1].text), file, static_cast<uint32_t>(row[3].bits), file, false});
      return {};
    }
    case Meaning::None:
      return {};
  }
  return {};
}

uint64_t sample_period_ns(const trace::Reader& reader, const trace::WriterInfo& writer) {
  if (const uint64_t own = period_of(writer); own != 0) return own;
  for (const auto& [id, other] : reader.writers())
    if (const uint64_t period = period_of(other); period != 0) return period;
  return kDefaultPeriodNs;
}

}  // namespace kymo::memory
