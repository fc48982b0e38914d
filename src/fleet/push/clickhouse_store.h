// The tables of a ClickHouse server as a Store.
#pragma once

#include "push/clickhouse.h"
#include "push/store.h"
#include "push/tables.h"

namespace kymo::push {

class ClickHouseStore : public Store {
 public:
  explicit ClickHouseStore(Address address) : client_(std::move(address)) {}

  void prepare() override;
  KnownTraces known(const std::vector<uint64_t>& traces) override;
  void insert(const Block& block, uint64_t attempt) override;

 private:
  Client client_;
};

}  // namespace kymo::push
