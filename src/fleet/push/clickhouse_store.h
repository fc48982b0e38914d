// The tables of a ClickHouse server as a Store.
#pragma once

#include <set>

#include "push/clickhouse.h"
#include "push/store.h"
#include "push/tables.h"

namespace kymo::push {

class ClickHouseStore : public Store {
 public:
  explicit ClickHouseStore(Address address) : client_(std::move(address)) {}

  std::string text() const override { return client_.address().text(); }
  bool prepare() override;
  std::map<uint64_t, KnownTrace> known(const std::vector<uint64_t>& traces) override;
  void check_rows(std::map<uint64_t, KnownTrace>& traces) override;
  void insert(const Block& block, uint64_t attempt) override;
  std::unique_ptr<EventSink> events(uint64_t attempt) override;
  Content content() override;
  uint64_t remove_orphans(uint64_t before) override;
  bool remove(uint64_t trace) override;

 private:
  std::string name_of(const TableSpec& table) const;
  bool has_all_tables();
  void check_columns();
  void check_version();
  bool has_counts(uint64_t trace, uint64_t before);
  void wait_for_deletions(const TableSpec& table);

  using Attempt = std::pair<uint64_t, uint64_t>;  // trace and attempt
  void find_complete(std::map<uint64_t, KnownTrace>& traces);
  void find_unmarked(std::map<uint64_t, KnownTrace>& traces);
  std::set<Attempt> complete_attempts(const std::map<uint64_t, KnownTrace>& traces);

  Client client_;
};

}  // namespace kymo::push
