#include "sample/python_functions.h"

#include <algorithm>
#include <cstring>

#include "kymo/error.h"
#include "python_code/code.h"
#include "sample/preload/packets.h"

namespace kymo::sample {
namespace {

constexpr size_t kMostCodes = 1 << 20, kMostFrames = 4096;
constexpr uint32_t kMostLines = 4 << 20;

// The caller has checked that it is there.
template <typename Structure>
Structure load_structure(base::Bytes bytes) {
  Structure structure;
  std::memcpy(&structure, bytes.data(), sizeof structure);
  return structure;
}

}  // namespace

void PythonFunctions::add_code(base::Bytes definition) {
  try {
    base::ByteReader reader(definition);
    const auto begin = load_structure<kymo_python_definition>(reader.take(sizeof(kymo_python_definition)));
    const auto is_width = [](uint32_t width) { return width == 1 || width == 2 || width == 4; };
    if (!is_width(begin.name_width) || !is_width(begin.file_width) || begin.lines > kMostLines) return;
    const base::Bytes name = reader.take(uint64_t{begin.name_length} * begin.name_width);
    const base::Bytes file = reader.take(uint64_t{begin.file_length} * begin.file_width);
    const base::Bytes lines = reader.take(begin.lines_bytes);
    if (begin.lines_begin == 0) {
      add_code(begin.identity, begin.minor, python_code::python_text(name, begin.name_width),
               python_code::python_text(file, begin.file_width), begin.first_line, lines);
      return;
    }
    const auto known = codes_.find(begin.identity);
    if (known == codes_.end() || known->second.lines.size() != begin.lines_begin) return;
    if (known->second.lines.size() + lines.size() > begin.lines) return;
    known->second.lines.insert(known->second.lines.end(), lines.begin(), lines.end());
  } catch (const Error&) {  // it is shorter than it says
  }
}

void PythonFunctions::add_code(uint64_t identity, unsigned minor, std::string name, std::string file,
                               uint32_t first_line, base::Bytes lines) {
  if (codes_.size() >= kMostCodes) return;
  codes_[identity] = {minor, std::move(name), std::move(file), first_line, {lines.begin(), lines.end()}};
}

std::optional<PythonStack> PythonFunctions::read_stack(base::Bytes frames) {
  if (frames.size() < sizeof(kymo_python_begin)) return std::nullopt;
  const auto begin = load_structure<kymo_python_begin>(frames);
  frames = frames.subspan(sizeof begin);
  if (begin.frames > kMostFrames || begin.frames > frames.size() / sizeof(PythonStack::Frame)) return std::nullopt;
  PythonStack stack{begin.interpreter_begin, begin.interpreter_end, begin.is_cut != 0, {}};
  for (size_t i = 0; i < begin.frames; ++i)
    stack.frames.push_back(load_structure<PythonStack::Frame>(frames.subspan(i * sizeof(PythonStack::Frame))));
  return stack;
}

uint64_t PythonFunctions::address_of(const PythonStack::Frame& frame) {
  static const Code kUnknown{0, "(a Python function that could not be read)", "", 0, {}};
  const auto known = codes_.find(frame.code);
  const Code& code = known == codes_.end() ? kUnknown : known->second;
  const uint32_t line =
      python_code::python_line(code.minor, code.lines, code.first_line, static_cast<int64_t>(frame.at));
  const uint64_t identity = known == codes_.end() ? 0 : frame.code;
  const auto [place, is_new] = addresses_.try_emplace({identity, line}, kFirst + places_.size());
  if (is_new) {
    if (places_.size() + 1 >= kMost) {
      place->second = kFirst;
    } else {
      places_.push_back({code.name, code.file, line});
    }
  }
  return place->second;
}

std::span<const uint64_t> PythonFunctions::put_into(std::span<const uint64_t> natives, std::span<const uint64_t> ends,
                                                    const PythonStack& python, bool& root_is_known) {
  merged_.clear();
  size_t next = 0, first = 0;  // of the natives; of the Python functions before the next mark
  const auto is_interpreter = [&](uint64_t address) {
    return address > python.interpreter_begin && address <= python.interpreter_end;
  };
  const auto next_interpreter = [&] {
    size_t place = next;
    while (place < natives.size() && !is_interpreter(natives[place])) ++place;
    return place;
  };
  const auto put = [&](size_t place, size_t end) {
    merged_.insert(merged_.end(), natives.begin() + static_cast<ptrdiff_t>(next),
                   natives.begin() + static_cast<ptrdiff_t>(place));
    for (; first < end; ++first) merged_.push_back(address_of(python.frames[first]));
    next = std::min(place + 1, natives.size());
  };
  for (size_t i = 0; i < python.frames.size(); ++i) {
    if (python.frames[i].code != 0) continue;
    const uint64_t mark = python.frames[i].at;
    size_t place = mark != 0 ? next : next_interpreter();
    if (mark != 0) {
      while (place < ends.size() && ends[place] <= mark) ++place;
      place = std::min(place, natives.size());
      // The walk ended in the interpreter, and nobody knows where that ends.
      if (place == natives.size() && next < place && ends.size() >= place && ends[place - 1] == 0 &&
          is_interpreter(natives[place - 1]))
        --place;
    }
    put(place, i);
    first = i + 1;
    if (place >= natives.size() && !python.is_cut) root_is_known = true;
  }
  // The mark of the outermost ones was cut off: a deep recursion is one call of the interpreter.
  if (first < python.frames.size()) put(next_interpreter(), python.frames.size());
  merged_.insert(merged_.end(), natives.begin() + static_cast<ptrdiff_t>(next), natives.end());
  return merged_;
}

}  // namespace kymo::sample
