#include "sample/python_process.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "python_code/code.h"

namespace kymo::sample {
namespace {

constexpr size_t kPage = 4096, kMostPages = 1 << 16, kMostFrames = 2048;
constexpr size_t kMostTable = 64 << 20;

template <typename Value>
std::vector<Value> read_all(int file, uint64_t offset, uint64_t bytes) {
  if (bytes > kMostTable) return {};
  std::vector<Value> values(bytes / sizeof(Value));
  const size_t wanted = values.size() * sizeof(Value);
  if (pread(file, values.data(), wanted, static_cast<off_t>(offset)) != static_cast<ssize_t>(wanted)) values.clear();
  return values;
}

// What a file exports under these names.
std::map<std::string, ElfW(Sym)> exported(const std::string& path, std::initializer_list<std::string_view> names) {
  std::map<std::string, ElfW(Sym)> found;
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return found;
  const auto header = read_all<ElfW(Ehdr)>(file.get(), 0, sizeof(ElfW(Ehdr)));
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_shentsize != sizeof(ElfW(Shdr)))
    return found;
  const auto sections =
      read_all<ElfW(Shdr)>(file.get(), header[0].e_shoff, uint64_t{header[0].e_shnum} * sizeof(ElfW(Shdr)));
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const ElfW(Shdr)& strings = sections[section.sh_link];
    const auto symbols = read_all<ElfW(Sym)>(file.get(), section.sh_offset, section.sh_size);
    const auto text = read_all<char>(file.get(), strings.sh_offset, strings.sh_size);
    for (const ElfW(Sym) & symbol : symbols) {
      if (symbol.st_value == 0 || symbol.st_name >= text.size()) continue;
      const std::string_view name(text.data() + symbol.st_name,
                                  strnlen(text.data() + symbol.st_name, text.size() - symbol.st_name));
      if (std::ranges::find(names, name) != names.end()) found.emplace(name, symbol);
    }
  }
  return found;
}

// "3.11.7"; of versions that do not export their number, "3.9.0" by the name of the file.
std::string version_of(uint64_t number, std::string_view path) {
  constexpr uint64_t kReleased = 0xf;
  if (number != 0)
    return base::format("{}.{}.{}{}", number >> 24 & 0xff, number >> 16 & 0xff, number >> 8 & 0xff,
                        (number >> 4 & 0xf) == kReleased ? "" : "rc");
  const size_t at = path.find("python3.", path.rfind('/') + 1);
  if (at == path.npos) return "3";
  const std::string_view digits = path.substr(at + std::string_view("python3.").size());
  return base::format("3.{}.0", digits.substr(0, digits.find_first_not_of("0123456789")));
}

}  // namespace

PythonProcess::PythonProcess(pid_t pid, AddressSpace& code) : pid_(pid) {
  for (const MappedFile& mapped : mapped_code(pid)) {
    const std::string_view name = std::string_view(mapped.path).substr(mapped.path.rfind('/') + 1);
    if (!name.starts_with("python") && !name.starts_with("libpython")) continue;
    const LoadedFile* const file = code.file_at(pid, mapped.begin + 1);
    if (file == nullptr || file->code == nullptr) continue;
    auto symbols = exported(file->code->path_of_descriptor(),
                            {"_PyRuntime", "PyCode_Type", "Py_Version", "_PyEval_EvalFrameDefault"});
    if (!symbols.contains("_PyRuntime")) continue;
    const auto address = [&](const char* symbol) {
      return symbols.contains(symbol) ? file->base + symbols[symbol].st_value - file->code->first() : 0;
    };
    uint64_t number = 0;
    if (symbols.contains("Py_Version")) load(this, address("Py_Version"), &number);
    const std::string version = version_of(number & 0xffffffff, mapped.path);
    if (!kymo_find_python(version.c_str(), address("_PyRuntime"), address("PyCode_Type"), {load, this}, &python_))
      unknown_version_ = version;
    interpreter_begin_ = address("_PyEval_EvalFrameDefault");
    interpreter_end_ = interpreter_begin_ + symbols["_PyEval_EvalFrameDefault"].st_size;
    return;
  }
}

const std::vector<std::byte>* PythonProcess::page(uintptr_t at) {
  if (pages_.size() >= kMostPages) pages_.clear();
  const auto [found, is_new] = pages_.try_emplace(at / kPage);
  std::vector<std::byte>& page = found->second;
  if (is_new) {
    page.resize(kPage);
    iovec here{page.data(), kPage}, there{reinterpret_cast<void*>(at / kPage * kPage), kPage};
    if (process_vm_readv(pid_, &here, 1, &there, 1, 0) != static_cast<ssize_t>(kPage)) page.clear();
  }
  return page.empty() ? nullptr : &page;
}

bool PythonProcess::load(void* self, uintptr_t from, uint64_t* into) {
  std::byte word[sizeof *into];
  for (size_t i = 0; i < sizeof word;) {
    const uintptr_t at = from + i;
    const std::vector<std::byte>* const page = static_cast<PythonProcess*>(self)->page(at);
    if (page == nullptr) return false;
    const size_t count = std::min(sizeof word - i, kPage - at % kPage);
    std::memcpy(word + i, page->data() + at % kPage, count);
    i += count;
  }
  std::memcpy(into, word, sizeof word);
  return true;
}

std::vector<std::byte> PythonProcess::bytes(uintptr_t at, size_t count) {
  std::vector<std::byte> all;
  while (all.size() < count) {
    const std::vector<std::byte>* const from = page(at);
    if (from == nullptr) break;
    const size_t taken = std::min(count - all.size(), kPage - at % kPage);
    const auto begin = from->begin() + static_cast<ptrdiff_t>(at % kPage);
    all.insert(all.end(), begin, begin + static_cast<ptrdiff_t>(taken));
    at += taken;
  }
  return all;
}

bool PythonProcess::add_code(PythonStack::Frame& frame, PythonFunctions& functions) {
  kymo_python_code code{};
  if (!kymo_read_python_code(&python_, {load, this}, frame.code, &code)) return false;
  const auto text = [&](const kymo_python_text& one) {
    return python_code::python_text(bytes(one.at, size_t{one.length} * one.width), one.width);
  };
  frame.code = code.identity;
  functions.add_code(code.identity, python_.minor, text(code.name), text(code.file), code.first_line,
                     bytes(code.lines, code.lines_bytes));
  return true;
}

std::optional<PythonStack> PythonProcess::read(pid_t tid, uintptr_t pointer, PythonFunctions& functions) {
  if (python_.minor == 0) return std::nullopt;
  pages_.clear();  // it has run since
  const kymo_memory memory{load, this};
  const uintptr_t thread = kymo_python_thread(&python_, memory, 0, pointer, static_cast<uint32_t>(tid));
  if (thread == 0) return std::nullopt;
  std::vector<kymo_python_frame> frames(kMostFrames);
  PythonStack stack{interpreter_begin_, interpreter_end_, false, {}};
  frames.resize(kymo_python_frames(&python_, memory, thread, frames.data(), frames.size(), &stack.is_cut));
  for (const kymo_python_frame& one : frames) {
    PythonStack::Frame& frame = stack.frames.emplace_back(PythonStack::Frame{one.code, one.at});
    if (frame.code != 0 && !add_code(frame, functions)) frame.code = ~uint64_t{0};
  }
  return stack;
}

}  // namespace kymo::sample
