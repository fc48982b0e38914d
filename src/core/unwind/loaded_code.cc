#include "unwind/loaded_code.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "unwind/byte_reader.h"

#ifdef DLFO_STRUCT_HAS_EH_DBASE
extern "C" int _dl_find_object(void*, struct dl_find_object*) noexcept __attribute__((weak));
#endif

namespace kymo::unwind {
namespace {

// The ELF header is mapped at the beginning of the file, except in files that were made by hand.
bool segments_from_header(LoadedCode& code) noexcept {
  ElfW(Ehdr) header;
  if (code.end - code.begin < sizeof header) return false;
  memcpy(&header, reinterpret_cast<const void*>(code.begin), sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr))) return false;
  const size_t bytes = size_t{header.e_phnum} * sizeof(ElfW(Phdr));
  constexpr size_t kSmallestPage = 4096;  // this much is always mapped
  if (header.e_phoff > kSmallestPage || bytes > kSmallestPage - header.e_phoff) return false;
  code.segments = reinterpret_cast<const ElfW(Phdr)*>(code.begin + header.e_phoff);
  code.segment_count = header.e_phnum;
  return true;
}

struct CodeSearch {
  uintptr_t address;
  LoadedCode& found;
};

int visit_loaded(dl_phdr_info* info, size_t, void* data) noexcept {
  auto& search = *static_cast<CodeSearch*>(data);
  const LoadedCode code = loaded_code(*info);
  if (search.address < code.begin || search.address >= code.end) return 0;
  search.found = code;
  return 1;
}

}  // namespace

LoadedCode loaded_code(const dl_phdr_info& info) noexcept {
  LoadedCode code;
  code.offset = info.dlpi_addr;
  code.segments = info.dlpi_phdr;
  code.segment_count = info.dlpi_phnum;
  code.path = info.dlpi_name != nullptr ? info.dlpi_name : "";
  code.begin = ~uintptr_t{0};
  for (size_t i = 0; i < code.segment_count; ++i) {
    const auto& segment = code.segments[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t at = code.offset + segment.p_vaddr;
    if (at < code.begin) code.begin = at;
    if (at + segment.p_memsz > code.end) code.end = at + segment.p_memsz;
  }
  return code;
}

bool find_loaded_code(uintptr_t address, LoadedCode& found) noexcept {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  if (&_dl_find_object != nullptr) {
    dl_find_object object;
    if (_dl_find_object(reinterpret_cast<void*>(address), &object) != 0) return false;
    found.begin = reinterpret_cast<uintptr_t>(object.dlfo_map_start);
    found.end = reinterpret_cast<uintptr_t>(object.dlfo_map_end);
    found.offset = object.dlfo_link_map->l_addr;
    found.path = object.dlfo_link_map->l_name != nullptr ? object.dlfo_link_map->l_name : "";
    if (segments_from_header(found)) return true;
  }
#endif
  CodeSearch search{address, found};
  return dl_iterate_phdr(visit_loaded, &search) != 0;
}

const ElfW(Phdr) * segment_at(const LoadedCode& code, uintptr_t address, size_t bytes, uint32_t rights) noexcept {
  for (size_t i = 0; i < code.segment_count; ++i) {
    const auto& segment = code.segments[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & rights) != rights) continue;
    const uintptr_t from = code.offset + segment.p_vaddr;
    if (address >= from && address - from <= segment.p_filesz && bytes <= segment.p_filesz - (address - from))
      return &segment;
  }
  return nullptr;
}

size_t build_id_of(const LoadedCode& code, uint8_t (&bytes)[kMaxBuildIdBytes]) noexcept {
  constexpr uint32_t kAlignment = 4;
  for (size_t i = 0; i < code.segment_count; ++i) {
    const auto& segment = code.segments[i];
    const uintptr_t at = code.offset + segment.p_vaddr;
    if (segment.p_type != PT_NOTE || segment_at(code, at, segment.p_memsz, PF_R) == nullptr) continue;
    const auto* notes = reinterpret_cast<const uint8_t*>(at);
    ByteReader reader(notes, notes + segment.p_memsz);
    while (reader.left() > sizeof(ElfW(Nhdr))) {
      const auto note = reader.fixed<ElfW(Nhdr)>();
      const auto padded = [](uint64_t length) noexcept { return (length + kAlignment - 1) / kAlignment * kAlignment; };
      const ByteReader name = reader.part(padded(note.n_namesz));
      const ByteReader description = reader.part(padded(note.n_descsz));
      if (!reader.good()) break;
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof ELF_NOTE_GNU ||
          memcmp(name.position(), ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0)
        continue;
      const size_t length = note.n_descsz < sizeof bytes ? note.n_descsz : sizeof bytes;
      memcpy(bytes, description.position(), length);
      return length;
    }
  }
  return 0;
}

}  // namespace kymo::unwind
