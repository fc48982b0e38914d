#include "inject/nvtx/domain.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "inject/nvtx/thread_state.h"

namespace kymo::inject::nvtx {
namespace {

constexpr uint32_t kReplacement = 0xfffd;
constexpr const char* kDefaultName = "nvtx";
constexpr std::string_view kOwnDomain = "kymo";          // src/core/sink/nvtx.cc
constexpr uint32_t kMaxDomains = 1 << 20;                // the depths of a thread are an array
constexpr uint16_t kLastStack = record::kAnyStack - 16;  // the numbers above have other uses

constinit std::atomic<uint32_t> locked{0};
constinit std::atomic<Domain*> domains{nullptr};
constinit std::atomic<uint32_t> domains_made{1};

kymo_label label_in(const Domain& domain, const char* text, size_t length) noexcept {
  return {text, domain.name, static_cast<uint32_t>(length), domain.name_length, 0};
}

template <class T>
T* make() noexcept {
  return static_cast<T*>(calloc(1, sizeof(T)));
}

// For more domains than numbers, the last one is shared.
uint16_t stack_number(uint32_t index) noexcept {
  return static_cast<uint16_t>(index < kLastStack ? index + 1 : kLastStack);
}

}  // namespace

Lock::Lock() noexcept {
  // Everything is linked after it is complete, so a forked child can continue even if the lock was held.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { locked.store(0, std::memory_order_relaxed); });
  (void)registered;
  while (locked.exchange(1, std::memory_order_acquire) != 0) sched_yield();
}
Lock::~Lock() { locked.store(0, std::memory_order_release); }

constinit Domain default_domain{nullptr, kDefaultName, 4, 0, 1, {}, {}};

char* keep_text(std::string_view text) noexcept {
  auto* copy = static_cast<char*>(malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

Domain* create_domain(std::string_view name) noexcept {
  const Lock lock;
  for (Domain* domain = domains.load(std::memory_order_acquire); domain != nullptr; domain = domain->next)
    if (std::string_view(domain->name, domain->name_length) == name) return domain;
  const uint32_t index = domains_made.load(std::memory_order_relaxed);
  if (index >= kMaxDomains) return nullptr;
  auto* made = make<Domain>();
  if (made == nullptr || (made->name = keep_text(name)) == nullptr) return nullptr;
  made->name_length = static_cast<uint32_t>(name.size());
  made->index = index;
  made->stack = name == kOwnDomain ? 0 : stack_number(index);
  made->next = domains.load(std::memory_order_relaxed);
  domains_made.store(index + 1, std::memory_order_release);
  domains.store(made, std::memory_order_release);
  announce_domain();
  return made;
}

uint32_t domain_count() noexcept { return domains_made.load(std::memory_order_relaxed); }

RegisteredString* register_string(Domain& domain, std::string_view text) noexcept {
  auto* made = make<RegisteredString>();
  const char* const copy = keep_text(text);
  if (made == nullptr || copy == nullptr) return nullptr;
  made->site.label = label_in(domain, copy, text.size());
  made->domain = &domain;
  made->magic = RegisteredString::kMagic;
  return made;
}

RegisteredString* checked_string(uint64_t handle, bool (*read)(uint64_t, void*, size_t) noexcept) noexcept {
  uint64_t magic = 0;
  if (handle % alignof(RegisteredString) != 0 || !read(handle, &magic, sizeof magic)) return nullptr;
  return magic == RegisteredString::kMagic ? reinterpret_cast<RegisteredString*>(handle) : nullptr;
}

void name_category(Domain& domain, uint32_t number, std::string_view name) noexcept {
  if (category_name(domain, number) == name) return;
  auto* made = make<Category>();
  if (made == nullptr || (made->name = keep_text(name)) == nullptr) return;
  made->number = number;
  made->length = static_cast<uint32_t>(name.size());
  const Lock lock;
  made->next = domain.categories.load(std::memory_order_relaxed);
  domain.categories.store(made, std::memory_order_release);
}

std::string_view category_name(const Domain& domain, uint32_t number) noexcept {
  for (const Category* one = domain.categories.load(std::memory_order_acquire); one != nullptr; one = one->next)
    if (one->number == number) return {one->name, one->length};
  return {};
}

size_t put_utf8(char* to, uint32_t point) noexcept {
  if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) point = kReplacement;
  if (point < 0x80) {
    to[0] = static_cast<char>(point);
    return 1;
  }
  const size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (size_t i = length; i-- > 1; point >>= 6) to[i] = static_cast<char>(0x80 | (point & 0x3f));
  to[0] = static_cast<char>((0xf00 >> length) | point);
  return length;
}

Text::Text(const char* ascii) noexcept { set(ascii); }
Text::Text(const wchar_t* wide) noexcept { set(wide); }

Text::Text(int32_t type, const MessageValue& value) noexcept {
  view_ = kUnnamed;
  if (type == kAscii) set(value.ascii);
  if (type == kWide) set(value.wide);
  if (type == kRegistered && value.registered != nullptr) set(*value.registered);
}

void Text::set(const RegisteredString& string) noexcept {
  view_ = {string.site.label.name, string.site.label.name_length};
}

void Text::set(const char* ascii) noexcept {
  if (ascii == nullptr) {
    view_ = kUnnamed;
    return;
  }
  size_t size = strnlen(ascii, kMaxTextBytes + 1);
  if (size > kMaxTextBytes) {  // not inside of a character
    size = kMaxTextBytes;
    for (int i = 0; i < 3 && (static_cast<uint8_t>(ascii[size]) & 0xc0) == 0x80; ++i) --size;
  }
  view_ = {ascii, size};
}

void Text::set(const wchar_t* wide) noexcept {
  view_ = kUnnamed;
  if (wide == nullptr) return;
  size_t size = 0;
  for (; *wide != L'\0' && size < kMaxConvertedBytes; ++wide)
    size += put_utf8(buffer_ + size, static_cast<uint32_t>(*wide));
  buffer_[size] = '\0';
  view_ = {buffer_, size};
}

std::string_view Text::as_name() noexcept {
  if (view_.find_first_of("{}") == std::string_view::npos) return view_;
  size_t size = 0;
  for (const char byte : view_) {
    const bool is_brace = byte == '{' || byte == '}';
    if (size + (is_brace ? 2 : 1) > kMaxTextBytes) break;
    name_[size++] = byte;
    if (is_brace) name_[size++] = byte;
  }
  return {name_, size};
}

}  // namespace kymo::inject::nvtx
