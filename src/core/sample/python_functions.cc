#include "sample/python_functions.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kymo/error.h"
#include "sample/preload/packets.h"

// The reader of the preloaded library, for the memory of other processes.
extern "C" {
#include "sample/preload/python.c"
}

namespace kymo::sample {
namespace {

constexpr size_t kMostCodes = 1 << 20, kMostFrames = 4096;
constexpr uint32_t kMostLines = 4 << 20;
constexpr int kNoLine = -128;

// The caller has checked that it is there.
template <typename Structure>
Structure load_structure(base::Bytes bytes) {
  Structure structure;
  std::memcpy(&structure, bytes.data(), sizeof structure);
  return structure;
}

// Python 3.9: how many bytes of instructions, and how many lines further.
int64_t line_by_distances(base::Bytes table, int64_t line, int64_t instruction) {
  int64_t at = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    at += static_cast<uint8_t>(table[i]);
    if (at > instruction) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return line;
}

// Python 3.10: the same, but the line belongs to the instructions before the distance, and there may be none.
int64_t line_by_ranges(base::Bytes table, int64_t line, int64_t instruction) {
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto further = static_cast<int8_t>(table[i + 1]);
    if (further != kNoLine) line += further;
    end += static_cast<uint8_t>(table[i]);
    if (instruction < end) break;
  }
  return line;
}

// Python 3.11 and later: entries that begin with the highest bit.
int64_t line_by_locations(base::Bytes table, int64_t line, int64_t instruction) {
  constexpr unsigned kBegin = 0x80, kOneLine = 10, kNoColumns = 13, kLong = 14;
  int64_t end = 0;
  for (size_t i = 0; i < table.size();) {
    const auto head = static_cast<unsigned>(table[i++]);
    const unsigned kind = head >> 3 & 15;
    if (kind >= kOneLine && kind < kNoColumns) line += kind - kOneLine;
    if (kind == kNoColumns || kind == kLong) {
      uint64_t value = 0;
      for (unsigned shift = 0; i < table.size() && shift < 32; shift += 6) {
        const auto part = static_cast<unsigned>(table[i]);
        if ((part & kBegin) != 0) break;
        ++i;
        value |= uint64_t{part & 63} << shift;
        if ((part & 64) == 0) break;
      }
      line += (value & 1) != 0 ? -static_cast<int64_t>(value >> 1) : static_cast<int64_t>(value >> 1);
    }
    while (i < table.size() && (static_cast<unsigned>(table[i]) & kBegin) == 0) ++i;  // columns
    end += int64_t{(head & 7) + 1} * 2;
    if (instruction < end) break;
  }
  return line;
}

void append_utf8(std::string& text, uint32_t character) {
  constexpr uint32_t kLast = 0x10ffff, kFirstSurrogate = 0xd800, kLastSurrogate = 0xdfff, kReplacement = 0xfffd;
  if (character > kLast || (character >= kFirstSurrogate && character <= kLastSurrogate)) character = kReplacement;
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80) return add(character);
  if (character < 0x800) {
    add(0xc0 | character >> 6);
  } else {
    if (character < 0x10000) {
      add(0xe0 | character >> 12);
    } else {
      add(0xf0 | character >> 18);
      add(0x80 | (character >> 12 & 63));
    }
    add(0x80 | (character >> 6 & 63));
  }
  add(0x80 | (character & 63));
}

}  // namespace

uint32_t python_line(unsigned minor, base::Bytes table, uint32_t first_line, int64_t instruction) {
  if (instruction < 0) return first_line;
  const int64_t line = minor <= 9    ? line_by_distances(table, first_line, instruction)
                       : minor == 10 ? line_by_ranges(table, first_line, instruction)
                                     : line_by_locations(table, first_line, instruction);
  return line > 0 && line <= std::numeric_limits<int32_t>::max() ? static_cast<uint32_t>(line) : 0;
}

std::string python_text(base::Bytes bytes, unsigned width) {
  std::string text;
  for (size_t i = 0; width != 0 && i + width <= bytes.size(); i += width)
    append_utf8(text, width == 1   ? static_cast<uint8_t>(bytes[i])
                      : width == 2 ? base::load<uint16_t>(bytes.data() + i)
                                   : base::load<uint32_t>(bytes.data() + i));
  return text;
}

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
      add_code(begin.identity, begin.minor, python_text(name, begin.name_width), python_text(file, begin.file_width),
               begin.first_line, lines);
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
  const uint32_t line = python_line(code.minor, code.lines, code.first_line, static_cast<int64_t>(frame.at));
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
