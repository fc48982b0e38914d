// Where the code at an address has its table for the unwinder of exceptions. The compiler's own part of each program asks the C
// library for this, which has it since glibc 2.35. A library that contains that part asks this, and runs with older ones.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#ifndef KYMO_OLDER_C  // in the library that takes its place where there is none
int libc_find_object(void* address, struct dl_find_object* found) __attribute__((weak));
__asm__(".symver libc_find_object, _dl_find_object@GLIBC_2.35");
#pragma GCC visibility push(hidden)
#endif

struct search {
  ElfW(Addr) address;
  struct dl_find_object* found;
};

static int visit(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  const struct search* search = data;
  ElfW(Addr) begin = ~(ElfW(Addr))0, end = 0, table = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
    const ElfW(Addr) at = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME) table = at;
    if (segment->p_type != PT_LOAD) continue;
    if (at < begin) begin = at;
    if (at + segment->p_memsz > end) end = at + segment->p_memsz;
  }
  if (search->address < begin || search->address >= end) return 0;
  struct link_map* map = _r_debug.r_map;  // which cannot change now
  while (map != NULL && map->l_name != info->dlpi_name) map = map->l_next;
  if (map == NULL || table == 0) return -1;
  search->found->dlfo_flags = 0;
  search->found->dlfo_map_start = (void*)begin;
  search->found->dlfo_map_end = (void*)end;
  search->found->dlfo_link_map = map;
  search->found->dlfo_eh_frame = (void*)table;
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* found) {
#ifndef KYMO_OLDER_C
  if (libc_find_object != NULL) return libc_find_object(address, found);
#endif
  struct search search = {(ElfW(Addr))address, found};
  return dl_iterate_phdr(visit, &search) == 1 ? 0 : -1;
}
