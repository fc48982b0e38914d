#include "sample/code_file.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "symbols/eh_frame_index.h"
#include "unwind/unwind_table.h"

namespace kymo::sample {

namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#else
constexpr uint16_t kMachine = EM_AARCH64;
#endif

constexpr uint64_t kPage = 4096;
constexpr uint16_t kMaxSegments = 256;
constexpr uint64_t kLargestFile = uint64_t{1} << 36;
constexpr uint64_t kCodeBytes = 16;  // enough to recognize the code that a signal handler returns to, and a PLT stub

// Reads all of it, or fails.
bool read_fully(int file, uint64_t offset, void* into, uint64_t bytes) {
  auto* at = static_cast<char*>(into);
  while (bytes != 0) {
    const ssize_t got = pread(file, at, bytes, static_cast<off_t>(offset));
    if (got <= 0) return false;
    at += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
  return true;
}

}  // namespace

std::shared_ptr<CodeFile> CodeFile::open(base::FileDescriptor file) {
  std::shared_ptr<CodeFile> made(new CodeFile());
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  made->inode_ = status.st_ino;
  made->device_ = status.st_dev;
  made->file_ = std::move(file);
  if (!made->read_segments()) return nullptr;
  made->read_build_id();
  return made;
}

// As a file in memory, it is read like all others.
std::shared_ptr<CodeFile> CodeFile::open_vdso() {
  const auto* begin = reinterpret_cast<const std::byte*>(getauxval(AT_SYSINFO_EHDR));
  if (begin == nullptr) return nullptr;
  ElfW(Ehdr) header;
  std::memcpy(&header, begin, sizeof header);
  uint64_t bytes = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    std::memcpy(&segment, begin + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) bytes = std::max<uint64_t>(bytes, segment.p_offset + segment.p_filesz);
  }
  base::FileDescriptor file(memfd_create("vdso", MFD_CLOEXEC));
  size_t written = 0;
  if (!file || base::write_all(file.get(), {begin, bytes}, written) != 0) return nullptr;
  return open(std::move(file));
}

bool CodeFile::is_at(const std::string& path) const {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && status.st_ino == inode_ && status.st_dev == device_;
}

std::string CodeFile::path_of_descriptor() const { return base::format("/proc/self/fd/{}", file_.get()); }

CodeFile::~CodeFile() {
  if (image_ != nullptr) munmap(image_, image_bytes_);
}

bool CodeFile::read_segments() {
  if (!read_fully(file_.get(), 0, &header_, sizeof header_)) return false;
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
      header_.e_machine != kMachine || header_.e_phentsize != sizeof(ElfW(Phdr)) || header_.e_phnum > kMaxSegments)
    return false;
  segments_.resize(header_.e_phnum);
  if (!read_fully(file_.get(), header_.e_phoff, segments_.data(), segments_.size() * sizeof(ElfW(Phdr)))) return false;
  uint64_t low = ~uint64_t{0}, high = 0;
  for (const ElfW(Phdr) & segment : segments_) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_memsz > kLargestFile || segment.p_filesz > segment.p_memsz ||
        segment.p_vaddr > ~uint64_t{0} - segment.p_memsz)
      return false;
    low = std::min<uint64_t>(low, segment.p_vaddr);
    high = std::max<uint64_t>(high, segment.p_vaddr + segment.p_memsz);
  }
  if (low >= high || high - low > kLargestFile) return false;
  first_ = low;
  size_ = high - low;
  void* const memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  image_ = static_cast<std::byte*>(memory);
  image_bytes_ = size_;
  code_.begin = reinterpret_cast<uintptr_t>(image_);
  code_.end = code_.begin + size_;
  code_.offset = code_.begin - first_;
  code_.segments = segments_.data();
  code_.segment_count = segments_.size();
  return true;
}

// Copies a part of the file to where it would be loaded. Parts of it that are not in the file stay zero.
bool CodeFile::fill(uint64_t address, uint64_t bytes) {
  for (const ElfW(Phdr) & segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t inside = address - segment.p_vaddr;
    if (inside >= segment.p_filesz || address - first_ >= size_) continue;
    bytes = std::min<uint64_t>(bytes, segment.p_filesz - inside);
    return read_fully(file_.get(), segment.p_offset + inside, image_ + (address - first_), bytes);
  }
  return false;
}

void CodeFile::read_build_id() {
  constexpr uint64_t kLargestNotes = 1 << 16;
  for (const ElfW(Phdr) & segment : segments_)
    if (segment.p_type == PT_NOTE) fill(segment.p_vaddr, std::min<uint64_t>(segment.p_memsz, kLargestNotes));
  uint8_t id[unwind::kMaxBuildIdBytes];
  build_id_ = base::hex({id, unwind::build_id_of(code_, id)});
}

std::vector<ElfW(Shdr)> CodeFile::read_sections() const {
  std::vector<ElfW(Shdr)> sections;
  if (header_.e_shentsize != sizeof(ElfW(Shdr))) return sections;
  sections.resize(header_.e_shnum);
  if (!read_fully(file_.get(), header_.e_shoff, sections.data(), sections.size() * sizeof(ElfW(Shdr))))
    sections.clear();
  return sections;
}

// How long the table is that begins at this address. Its section says it; without sections, it may be all that follows.
uint64_t CodeFile::table_bytes(uint64_t address) const {
  for (const ElfW(Shdr) & section : read_sections())
    if (section.sh_addr == address && section.sh_type != SHT_NOBITS && section.sh_size != 0) return section.sh_size;
  return ~uint64_t{0};
}

// For a file without a search table: makes one, and puts it after the file, as one more segment.
void CodeFile::make_table() {
  const std::vector<ElfW(Shdr)> sections = read_sections();
  if (header_.e_shstrndx >= sections.size()) return;
  constexpr std::string_view kName = ".eh_frame";
  constexpr uint64_t kLargestTable = 256 << 20;
  for (const ElfW(Shdr) & section : sections) {
    std::array<char, kName.size() + 1> name{};
    if (section.sh_type == SHT_NOBITS || section.sh_addr < first_ || section.sh_addr - first_ >= size_ ||
        !read_fully(file_.get(), sections[header_.e_shstrndx].sh_offset + section.sh_name, name.data(), name.size()) ||
        std::string_view(name.data(), name.size()) != std::string_view(".eh_frame\0", name.size()))
      continue;
    const uint64_t bytes = std::min<uint64_t>({section.sh_size, size_ - (section.sh_addr - first_), kLargestTable});
    if (!fill(section.sh_addr, bytes)) return;
    const uint64_t table_at = (first_ + size_ + kPage - 1) / kPage * kPage;
    const std::vector<std::byte> table = symbols::make_search_table(
        symbols::index_eh_frame({image_ + (section.sh_addr - first_), bytes}, section.sh_addr), table_at);
    const uint64_t wanted = table_at - first_ + table.size();
    void* const larger = mremap(image_, image_bytes_, wanted, MREMAP_MAYMOVE);
    if (larger == MAP_FAILED) return;
    image_ = static_cast<std::byte*>(larger);
    image_bytes_ = wanted;
    std::memcpy(image_ + (table_at - first_), table.data(), table.size());
    ElfW(Phdr) segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R;
    segment.p_vaddr = table_at;
    segment.p_filesz = segment.p_memsz = table.size();
    segments_.push_back(segment);
    segment.p_type = PT_GNU_EH_FRAME;
    segments_.push_back(segment);
    code_.begin = reinterpret_cast<uintptr_t>(image_);
    code_.end = code_.begin + image_bytes_;
    code_.offset = code_.begin - first_;
    code_.segments = segments_.data();
    code_.segment_count = segments_.size();
    return;
  }
}

void CodeFile::read_tables() {
  has_tables_ = true;
  constexpr uint8_t kRelative4 = 0x1b;  // how linkers store the address of .eh_frame: 4 bytes, relative to their place
  for (const ElfW(Phdr) & segment : segments_) {
    if (segment.p_type != PT_GNU_EH_FRAME) continue;
    const uint64_t at = segment.p_vaddr;
    struct {
      uint8_t version, table_encoding, count_encoding, search_encoding;
      int32_t table;
    } head{};
    if (segment.p_filesz < sizeof head || at < first_ || at - first_ > size_ - sizeof head ||
        !fill(at, segment.p_filesz))
      return;
    std::memcpy(&head, image_ + (at - first_), sizeof head);
    if (head.table_encoding != kRelative4) return;
    const uint64_t table = at + offsetof(decltype(head), table) + static_cast<uint64_t>(int64_t{head.table});
    if (table >= first_ && table - first_ < size_) fill(table, table_bytes(table));
    return;
  }
  make_table();
}

std::optional<uint64_t> CodeFile::distance(uint64_t mapped_at, uint64_t file_offset) const {
  for (const ElfW(Phdr) & segment : segments_) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uint64_t page_offset = segment.p_offset & ~(kPage - 1);
    if (file_offset < page_offset || file_offset - page_offset >= segment.p_filesz + kPage) continue;
    return mapped_at - file_offset + segment.p_offset - segment.p_vaddr;
  }
  return std::nullopt;
}

unwind::Rule CodeFile::rule(uint64_t return_address) {
  if (return_address <= first_ || return_address - first_ >= size_) return {};
  if (!has_tables_) read_tables();
  fill(return_address - 1, kCodeBytes);
  const uintptr_t here = code_.offset + return_address;
  return unwind::find_rule_in(code_, here - 1, here);
}

}  // namespace kymo::sample
