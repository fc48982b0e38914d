#include "shader/parse/parser_names.h"

#include <algorithm>

namespace kymo::shader {

namespace {

constexpr size_t kFirstNameEntries = 8192;

// Without a suffix, or with 2, 3, 4.
// clang-format off
constexpr std::string_view kVectorNames[] = {
    "bool", "bool2", "bool3", "bool4", "char", "char2", "char3", "char4", "uchar", "uchar2", "uchar3", "uchar4",
    "short", "short2", "short3", "short4", "ushort", "ushort2", "ushort3", "ushort4", "int", "int2", "int3", "int4",
    "uint", "uint2", "uint3", "uint4", "long", "long2", "long3", "long4", "ulong", "ulong2", "ulong3", "ulong4",
    "half", "half2", "half3", "half4", "bfloat", "bfloat2", "bfloat3", "bfloat4", "float", "float2", "float3", "float4",
    "double", "double2", "double3", "double4", "void",
    "packed_bool2", "packed_bool3", "packed_bool4", "packed_char2", "packed_char3", "packed_char4",
    "packed_uchar2", "packed_uchar3", "packed_uchar4", "packed_short2", "packed_short3", "packed_short4",
    "packed_ushort2", "packed_ushort3", "packed_ushort4", "packed_int2", "packed_int3", "packed_int4",
    "packed_uint2", "packed_uint3", "packed_uint4", "packed_long2", "packed_long3", "packed_long4",
    "packed_ulong2", "packed_ulong3", "packed_ulong4", "packed_half2", "packed_half3", "packed_half4",
    "packed_bfloat2", "packed_bfloat3", "packed_bfloat4", "packed_float2", "packed_float3", "packed_float4",
};
// Known from the start, but a library or a program may declare them.
constexpr std::string_view kAliasNames[] = {
    "float2x2", "float2x3", "float2x4", "float3x2", "float3x3", "float3x4", "float4x2", "float4x3", "float4x4",
    "half2x2", "half2x3", "half2x4", "half3x2", "half3x3", "half3x4", "half4x2", "half4x3", "half4x4",
    "atomic_int", "atomic_uint", "atomic_bool", "atomic_ulong", "atomic_float",
    "size_t", "ptrdiff_t", "intptr_t", "uintptr_t", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t",
    "int64_t", "uint64_t",
};
constexpr std::string_view kTemplateNames[] = {"vec", "packed_vec", "matrix", "atomic"};
// clang-format on

uint64_t names_bit(Word name) { return uint64_t{1} << (static_cast<uint32_t>(name) & 63); }

uint64_t names_key(const NameScope* scope, Word name) {
  return (uint64_t{scope->id} << 32) | static_cast<uint32_t>(name);
}

}  // namespace

ParserNames::ParserNames() : entries_(kFirstNameEntries) {
  builtin_ = open(NameScope::Kind::Namespace, nullptr);
  global_ = open(NameScope::Kind::Namespace, builtin_);
  declare_builtins();
}

ParserNames::ParserNames(const ParserNames& other)
    : words(other.words),
      scopes_(other.scopes_),
      entries_(other.entries_),
      used_(other.used_),
      member_templates_(other.member_templates_) {
  // The copies refer to each other, not to the originals. A scope's number is its place.
  const auto own = [this](NameScope*& scope) {
    if (scope != nullptr) scope = &scopes_[scope->id - 1];
  };
  for (NameScope& scope : scopes_) {
    for (NameScope** each : {&scope.parent, &scope.reopened, &scope.primary}) own(*each);
    for (NameScope*& each : scope.also) own(each);
    scope.visited = 0;
  }
  for (Entry& entry : entries_) {
    if (entry.key == 0) continue;
    own(entry.meaning.members);
    own(entry.meaning.home);
  }
  builtin_ = &scopes_[other.builtin_->id - 1];
  global_ = &scopes_[other.global_->id - 1];
}

void ParserNames::declare_builtins() {
  for (const auto name : kVectorNames) {
    declare(builtin_, words.word(name), NameMeaning::kType | NameMeaning::kBuiltin);
  }
  for (const auto name : kAliasNames) declare(builtin_, words.word(name), NameMeaning::kType);
  for (const auto name : kTemplateNames) {
    declare(builtin_, words.word(name), NameMeaning::kType | NameMeaning::kTemplate);
  }
}

NameScope* ParserNames::open(NameScope::Kind kind, NameScope* parent) {
  NameScope& scope = scopes_.emplace_back();
  scope.kind = kind;
  scope.id = static_cast<uint32_t>(scopes_.size());
  scope.parent = parent;
  return &scope;
}

void ParserNames::declare(NameScope* scope, Word name, uint8_t flags, NameScope* members) {
  scope->has |= names_bit(name);
  const uint64_t key = names_key(scope, name);
  Entry& entry = entries_[slot(key)];
  entry.meaning.flags |= flags;
  if (members != nullptr) entry.meaning.members = members;
  if (entry.key == 0) {
    entry.key = key;
    entry.meaning.home = scope;
    if (++used_ * 2 > entries_.size()) grow();
  }
  if (scope->kind == NameScope::Kind::Struct && (flags & NameMeaning::kTemplate) != 0) {
    const auto index = static_cast<size_t>(name);
    if (index >= member_templates_.size()) member_templates_.resize(std::max(index + 1, words.size()));
    member_templates_[index] = true;
  }
  if (scope->primary != nullptr && scope->primary != scope) declare(scope->primary, name, flags, members);
}

void ParserNames::follow(NameScope* scope, NameScope* other) {
  if (other == nullptr || other == scope) return;
  if (std::ranges::find(scope->also, other) != scope->also.end()) return;
  if (scope->also.size() < kMaxFollowed) scope->also.push_back(other);
}

const ParserNames::Entry* ParserNames::entry(const NameScope* scope, Word name) const {
  if ((scope->has & names_bit(name)) == 0) return nullptr;
  const Entry& entry = entries_[slot(names_key(scope, name))];
  return entry.key == 0 ? nullptr : &entry;
}

NameMeaning ParserNames::here(const NameScope* scope, Word name, int& left) const {
  if (scope->visited == lookup_ || left <= 0) return {};
  scope->visited = lookup_;
  --left;
  NameMeaning found;
  if (const Entry* own = entry(scope, name)) found = own->meaning;
  // A function may have overloads further on, and one of them may be a template.
  if (found.known() && (found.flags & (NameMeaning::kFunction | NameMeaning::kTemplate)) != NameMeaning::kFunction) {
    return found;
  }
  for (const NameScope* other : scope->also) {
    const NameMeaning more = here(other, name, left);
    if (!more.known()) continue;
    if (!found.known()) {
      found = more;
    } else if ((more.flags & NameMeaning::kFunction) != 0) {
      found.flags |= more.flags;
    }
  }
  return found;
}

NameMeaning ParserNames::find(const NameScope* from, Word name) const {
  ++lookup_;
  int left = kMaxFollowed;
  const NameScope* around = nullptr;  // the namespaces of a reopened struct: further out than its template's parameters
  const auto look = [&](const NameScope* scope) {
    left = std::max(left, 1);
    return here(scope, name, left);
  };
  for (const NameScope* scope = from; scope != nullptr; scope = scope->parent) {
    if (scope->reopened != nullptr) around = scope->reopened;
    while (around != nullptr && (around->kind != NameScope::Kind::Namespace || scope->kind == around->kind)) {
      if (const NameMeaning found = look(around); found.known()) return found;
      around = around->parent;
    }
    if (const NameMeaning found = look(scope); found.known()) return found;
  }
  return {};
}

NameMeaning ParserNames::find_in(const NameScope* scope, Word name) const {
  ++lookup_;
  int left = kMaxFollowed;
  return here(scope, name, left);
}

NameMeaning ParserNames::own(const NameScope* scope, Word name) const {
  const Entry* found = entry(scope, name);
  return found != nullptr ? found->meaning : NameMeaning();
}

bool ParserNames::is_member_template(Word name) const {
  const auto index = static_cast<size_t>(name);
  return index < member_templates_.size() && member_templates_[index];
}

size_t ParserNames::slot(uint64_t key) const {
  const size_t mask = entries_.size() - 1;
  uint64_t hash = key * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 32;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    if (entries_[i].key == key || entries_[i].key == 0) return i;
  }
}

void ParserNames::grow() {
  std::vector<Entry> before(entries_.size() * 2);
  before.swap(entries_);
  for (const Entry& entry : before) {
    if (entry.key != 0) entries_[slot(entry.key)] = entry;
  }
}

}  // namespace kymo::shader
