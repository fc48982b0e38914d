#include "inject/cuda/imports.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace kymo::inject::cuda {
namespace {

#if defined(__aarch64__)
constexpr uint64_t kCallPointer = R_AARCH64_JUMP_SLOT, kPointer = R_AARCH64_GLOB_DAT;
#else
constexpr uint64_t kCallPointer = R_X86_64_JUMP_SLOT, kPointer = R_X86_64_GLOB_DAT;
#endif

// What is needed of the dynamic section of a library.
struct Dynamic {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  std::span<const ElfW(Rela)> calls, others;
  bool is_linked_with = false;
};

Dynamic read_dynamic(const dl_phdr_info& object, const ElfW(Dyn) * section, const char* library) noexcept {
  // The dynamic linker has added the base of the library, or not, depending on the C library.
  const auto address = [&](ElfW(Addr) value) { return value < object.dlpi_addr ? value + object.dlpi_addr : value; };
  Dynamic found;
  const ElfW(Rela)* calls = nullptr, *others = nullptr;
  size_t call_bytes = 0, other_bytes = 0;
  for (const ElfW(Dyn)* entry = section; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) at = address(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) found.strings = reinterpret_cast<const char*>(at);
    if (entry->d_tag == DT_SYMTAB) found.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
    if (entry->d_tag == DT_JMPREL) calls = reinterpret_cast<const ElfW(Rela)*>(at);
    if (entry->d_tag == DT_RELA) others = reinterpret_cast<const ElfW(Rela)*>(at);
    if (entry->d_tag == DT_PLTRELSZ) call_bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_RELASZ) other_bytes = entry->d_un.d_val;
  }
  if (calls != nullptr) found.calls = {calls, call_bytes / sizeof *calls};
  if (others != nullptr) found.others = {others, other_bytes / sizeof *others};
  for (const ElfW(Dyn)* entry = section; found.strings != nullptr && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED && strncmp(found.strings + entry->d_un.d_val, library, strlen(library)) == 0)
      found.is_linked_with = true;
  return found;
}

// The pointer may be in a part that is only read after the start.
bool set_pointer(const dl_phdr_info& object, void** place, void* function) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(place);
  bool is_protected = false;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    const uintptr_t begin = object.dlpi_addr + part.p_vaddr;
    is_protected |= part.p_type == PT_GNU_RELRO && at >= begin && at < begin + part.p_memsz;
  }
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(at & ~(page_bytes - 1));
  if (is_protected && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(place, function, __ATOMIC_RELEASE);
  if (is_protected) mprotect(page, page_bytes, PROT_READ);
  return true;
}

struct Search {
  const char* library;
  std::span<const Import> imports;
  size_t count = 0;
};

int visit_object(dl_phdr_info* object, size_t, void* data) noexcept {
  Search& search = *static_cast<Search*>(data);
  const ElfW(Dyn)* section = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i)
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
      section = reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
  if (section == nullptr) return 0;
  const Dynamic dynamic = read_dynamic(*object, section, search.library);
  if (!dynamic.is_linked_with || dynamic.symbols == nullptr) return 0;
  for (const auto& list : {dynamic.calls, dynamic.others}) {
    for (const ElfW(Rela) & entry : list) {
      const uint64_t type = ELF64_R_TYPE(entry.r_info);
      if (type != kCallPointer && type != kPointer) continue;
      const char* const name = dynamic.strings + dynamic.symbols[ELF64_R_SYM(entry.r_info)].st_name;
      for (const Import& import : search.imports)
        if (strcmp(name, import.name) == 0)
          search.count +=
              set_pointer(*object, reinterpret_cast<void**>(object->dlpi_addr + entry.r_offset), import.function);
    }
  }
  return 0;
}

}  // namespace

size_t replace_imports(const char* library, std::span<const Import> imports) noexcept {
  Search search{library, imports};
  dl_iterate_phdr(visit_object, &search);
  return search.count;
}

}  // namespace kymo::inject::cuda
