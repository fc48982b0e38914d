// The stacks of a trace's allocations. Each stack has one number, for all threads.
//
// Stacks come in two forms: a tree of return addresses with the loaded files (the instants "stack node" and "module" of
// the heap hook), and lists of named frames (the stack tables of the trace). Here both become one tree. Names are
// looked up on request: in the trace, or else in the files as they are now (symbols/file_symbols.h).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "symbols/file_symbols.h"
#include "trace/reader.h"

namespace kymo::memory {

using StackId = uint32_t;  // 0: no stack is known

class Stacks {
 public:
  Stacks();

  // Why a stack is incomplete.
  enum class Cut : uint8_t { NoTables = 2, OtherStack = 3, TooDeep = 4, CopyTooShort = 5 };
  // True if the outermost frame only says that the rest of the stack is not known, and why.
  static bool is_cut(const symbols::Frame& frame);
  // The same for one reason.
  static bool is_cut(const symbols::Frame& frame, Cut why);

  // Used while reading. `process` is the number of a writer.
  StackId cut(Cut why);
  StackId called(StackId caller, uint32_t process, uint64_t return_address);
  // Without a path: no file is at these addresses any more.
  void loaded(uint32_t process, std::string path, std::string build_id, uint64_t base, uint64_t size);
  // The program of the process. All code without names that a runtime such as node makes is "(code of node)".
  void runs(uint32_t process, const trace::Origin& origin);
  // The names that a recording states for the code in its files.
  void states(const trace::WriterInfo& writer);
  // The code at an address that is in no file: a function of the kernel, or a line of Python.
  void named(uint32_t process, uint64_t address, symbols::Frame frame);
  StackId listed(uint32_t process, const trace::WriterInfo& writer, uint32_t stack);

  size_t size() const { return nodes_.size(); }
  // The outer functions that two stacks have in common; 0: none.
  StackId common(StackId a, StackId b) const;

  // Innermost first. Empty for 0. The first lookup of an address is slow.
  std::vector<symbols::Frame> frames(StackId stack);
  // The innermost code of a stack, if it is in a file.
  struct Code {
    std::string path, build_id;
    uint64_t offset = 0;  // as FileSymbols takes it: of the byte after the instruction's first one
    auto operator<=>(const Code&) const = default;
  };
  std::optional<Code> code(StackId stack) const;
  // Files without which frames() could not find names so far: they do not exist, or are another build now.
  const std::set<std::string>& missing_files() const { return missing_; }

 private:
  struct Node {
    StackId caller;
    uint32_t place;
  };
  // Code: an address in a process, between two changes of its loaded files. Named: a frame that the trace names.
  enum class Kind : uint8_t { Code, Named, Cut };
  struct Place {
    Kind kind;
    uint32_t process;
    uint32_t era;
    uint64_t value;  // a return address, an index into named_, or a Cut
    bool operator==(const Place&) const = default;
  };
  struct HashPlace {
    size_t operator()(const Place& place) const noexcept;
  };
  struct LoadedFile {
    std::string path, build_id;
    uint64_t base, size;
    uint32_t era;
  };
  struct Process {
    std::string session, program;
    std::vector<LoadedFile> files;
    uint32_t era = 0;
    std::map<uint32_t, StackId> lists;  // by the number in the trace
    std::map<uint32_t, uint32_t> named;
    std::unordered_map<uint64_t, symbols::Frame> names;  // of code in no file, by address
  };
  using FileNames = std::unordered_map<uint64_t, std::vector<symbols::Frame>>;  // by offset

  StackId node(StackId caller, const Place& place);
  Process& process(uint32_t number);
  const LoadedFile* file_at(const Place& place) const;
  const std::vector<symbols::Frame>* stated_at(const Process& process, const LoadedFile& file, uint64_t offset) const;
  std::vector<symbols::Frame> frames_in(const Process& process, const LoadedFile& file, uint64_t offset);
  const std::vector<symbols::Frame>& frames_at(uint32_t place);
  std::vector<symbols::Frame> look_up(const Place& place);

  std::vector<Node> nodes_;  // nodes_[0] is "no stack"
  std::vector<Place> places_;
  std::unordered_map<uint64_t, StackId, base::SeededHash> node_ids_;
  std::unordered_map<Place, uint32_t, HashPlace> place_ids_;
  std::vector<Process> processes_;
  std::vector<symbols::Frame> named_;
  symbols::FileSymbols symbols_;
  std::set<std::string> missing_;
  std::map<std::tuple<std::string, std::string, std::string>, FileNames> stated_;  // by session, path and build id
  std::unordered_map<uint32_t, std::vector<symbols::Frame>> known_;                // by place
};

// The frame that says most about an allocation: the innermost one of Python that is neither in an installed package nor
// in Python's own library; if there is none, one that is not PyTorch's; if there is none, any of Python; if there is
// none, the innermost one that is not part of the allocation itself (operator new, a standard container, PyTorch's
// allocator); if there is none, the innermost frame.
size_t first_informative_frame(const std::vector<symbols::Frame>& frames);

// The code that the user wrote: Python that is neither in an installed package nor in Python's own library, nor made by
// PyTorch's compiler. With folders, all Python in them, and nothing else.
class OwnCode {
 public:
  explicit OwnCode(const std::vector<std::string>& folders = {});

  bool contains(const symbols::Frame& frame) const;
  // The innermost one; the end: there is none.
  std::vector<symbols::Frame>::const_iterator innermost(const std::vector<symbols::Frame>& frames) const;

 private:
  std::vector<std::string> folders_;  // each ends with a slash
};

// The stacks of CPU samples (docs/sampling.md): from the definitions in a trace to Stacks.
//
// Pass all points of the writers that have samples, in the order of the file. Nothing in them is trusted. A recorded
// sample names a node of the tree of its thread; an imported one has a stack with names in the tables of the file.
class SampleStacks {
 public:
  using Row = std::vector<trace::ValueCursor::Value>;
  enum class Kind : uint8_t { Other, Sample, OnCpu, OffCpu, RecordedWait, PythonStack, MainPythonStack };
  struct Taken {
    Kind kind = Kind::Other;
    StackId stack = 0;       // of a Sample, a RecordedWait, a PythonStack, and an OffCpu that has one
    bool has_stack = false;  // of an OffCpu
    uint64_t ns = 0;         // of OnCpu and OffCpu
    bool is_preempted = false;
  };

  SampleStacks(Stacks& stacks, const trace::Reader& reader);

  // True if the writer has a class of CPU samples, which may have no events.
  static bool are_in(const trace::WriterInfo& writer);
  // True for the ranges of `kymo record --with waits`: {object, node, holder}.
  static bool is_recorded_wait(const trace::EventClass& event_class);
  // True if the writer states what its threads run in Python when they launch work (inject/python_stack.h).
  static bool has_python_stacks(const trace::WriterInfo& writer);

  // The next point of a track, or a recorded wait after the points that were stored before its end. `id` is that of the
  // point, `row` has its values.
  Taken take(const trace::WriterInfo& writer, uint32_t track, const trace::EventClass& event_class, uint64_t id,
             const Row& row);

 private:
  enum class Meaning : uint8_t {
    None,
    Sample,
    OnCpu,
    OffCpu,
    Wait,
    RecordedWait,
    PythonStack,
    MainPythonStack,
    Node,
    Module,
    Symbol,
    Python
  };
  static Meaning meaning_of(const trace::EventClass& event_class);

  struct Writer {
    uint32_t number = 0;
    struct Class {  // not the enumeration itself: a container of that would be exported by our libraries
      Meaning meaning = Meaning::None;
    };
    std::map<uint32_t, Class> classes;
  };
  using Nodes = std::unordered_map<uint64_t, StackId, base::SeededHash>;
  StackId stack_of(const Nodes& nodes, uint64_t node);
  StackId stack_of_point(const trace::WriterInfo& info, const Writer& writer, uint32_t track, uint64_t id,
                         uint64_t node);

  Stacks& stacks_;
  std::map<trace::WriterId, Writer> writers_;
  std::map<std::pair<trace::WriterId, uint32_t>, Nodes> nodes_;
};

// The time that a sample of this writer stands for. An imported file may say it only once.
uint64_t sample_period_ns(const trace::Reader& reader, const trace::WriterInfo& writer);

}  // namespace kymo::memory
