#include "import/nsys.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>

#include "import/import.h"
#include "import/test_import.h"
#include "kymo/error.h"
#include "trace/test_recorder.h"

namespace kymo::import {
namespace {

using testing::Shown;
using trace::testing::TemporaryFolder;

constexpr const char* kTexts = R"(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
  INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'void gemm<float>(int)'), (3, 'gemm'), (4, 'poll'),
    (5, 'worker'), (6, 'step'), (7, 'forward'), (8, 'mylib'), (9, 'cublasSgemm'))";

// The thread 22 of the process 11, and the process itself.
constexpr uint64_t kThread = 11 << 24 | 22, kProcess = 11 << 24;

// A file that SQLite has written.
class Database {
 public:
  explicit Database(const std::string& sql) : path_(folder_ / "report.sqlite") {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    char* problem = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &problem), SQLITE_OK) << problem;
    sqlite3_close(database);
  }

  Shown shown() const {
    return Shown([this](TraceBuilder& builder) {
      SqliteFile file(path_);
      return read_nsys(file, builder);
    });
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

std::string with_ids(std::string sql) {
  for (const auto& [word, number] : {std::pair("$THREAD", kThread), std::pair("$PROCESS", kProcess)})
    for (size_t at = 0; (at = sql.find(word, at)) != sql.npos;)
      sql.replace(at, std::string(word).size(), std::to_string(number));
  return sql;
}

TEST(NsysImportTest, LaunchesAndKernelsHaveOneCorrelation) {
  const Database database(with_ids(std::string(kTexts) + R"(;
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL, eventClass INT, globalTid INT,
      correlationId INT, nameId INT, returnValue INT NOT NULL, callchainId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 120, 0, $THREAD, 42, 1, 0, NULL);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
      contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT, globalPid INT, demangledName INT NOT NULL,
      shortName INT NOT NULL, mangledName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT,
      registersPerThread INT, staticSharedMemory INT, dynamicSharedMemory INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (200, 260, 0, 1, 7, 42, $PROCESS, 2, 3, NULL, 8, 4, 1, 32, 1, 1, 40,
      1024, 1024);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, contextId INT, streamId INT,
      correlationId INT, globalPid INT, bytes INT, copyKind INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (300, 310, 0, 1, 7, 43, $PROCESS, 4096, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT, end INT, deviceId INT, contextId INT, streamId INT,
      correlationId INT, globalPid INT, value INT, bytes INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (320, 330, 0, 1, 7, 44, $PROCESS, 0, 1024);
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, contextId INT, streamId INT,
      correlationId INT, globalPid INT, syncType INT, eventId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (340, 350, 0, 1, 7, 45, $PROCESS, 3, 0);
    CREATE TABLE PROCESSES (globalPid INT, pid INT, name TEXT);
    INSERT INTO PROCESSES VALUES ($PROCESS, 11, 'python');
    CREATE TABLE ThreadNames (nameId INT NOT NULL, priority INT, globalTid INT);
    INSERT INTO ThreadNames VALUES (5, 10, $THREAD), (4, 1, $THREAD);
    CREATE TABLE TARGET_INFO_GPU (vmId INT, id INT, name TEXT, cuDevice INT);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 3, 'H200', 0);
    CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, utcTime TEXT);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, 'x'))"));
  const Shown shown = database.shown();
  EXPECT_TRUE(shown.has("python/worker range cudaLaunchKernel [cuda_runtime] 100+20 d0 c42 {}"));
  EXPECT_TRUE(
      shown.has("python/stream 7 range void gemm<float>(int) [kernel] 200+60 d0 c42 {grid=[8, 4, 1] "
                "block=[32, 1, 1] registers per thread=40 shared memory=2.0 kB}"));
  EXPECT_TRUE(shown.has("python/stream 7 range Memcpy HtoD [gpu_memcpy] 300+10 d0 c43 {bytes=4.1 kB}"));
  EXPECT_TRUE(shown.has("python/stream 7 range Memset [gpu_memset] 320+10 d0 c44 {bytes=1.0 kB value=0}"));
  EXPECT_TRUE(shown.has("python/stream 7 range Stream Synchronize [cuda_sync] 340+10 d0 c45 {}"));
  EXPECT_EQ(shown.lines.size(), 5u);
  EXPECT_EQ(shown.lost, 0u);
  EXPECT_EQ(shown.base_ns, 1'700'000'000'000'000'000);
}

TEST(NsysImportTest, NvtxRangesHaveDomainsCategoriesAndPayloads) {
  const Database database(with_ids(std::string(kTexts) + R"(;
    CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, rangeId INT, category INT, color INT, text TEXT,
      globalTid INT, endGlobalTid INT, textId INT, domainId INT, int64Value INT, doubleValue REAL);
    INSERT INTO NVTX_EVENTS VALUES
      (10, 90, 59, NULL, NULL, NULL, 'outer', $THREAD, NULL, NULL, 0, 5, NULL),
      (20, 30, 59, NULL, 2, NULL, NULL, $THREAD, NULL, 6, 3, NULL, 0.5),
      (40, 60, 60, 1, NULL, NULL, 'across', $THREAD, $THREAD + 1, NULL, 0, NULL, NULL),
      (45, NULL, 34, NULL, NULL, NULL, 'mark', $THREAD, NULL, NULL, 0, NULL, NULL),
      (50, NULL, 59, NULL, NULL, NULL, 'hangs', $THREAD, NULL, NULL, 0, NULL, NULL),
      (0, NULL, 33, NULL, 2, NULL, NULL, $THREAD, NULL, 7, 3, NULL, NULL),
      (0, NULL, 75, NULL, NULL, NULL, NULL, $THREAD, NULL, 8, 3, NULL, NULL),
      (NULL, 5, 59, NULL, NULL, NULL, 'no time', $THREAD, NULL, NULL, 0, NULL, NULL))"));
  const Shown shown = database.shown();
  EXPECT_TRUE(shown.has("/ range outer [nvtx] 10+80 d0 {value=5}"));
  EXPECT_TRUE(shown.has("/ range step [mylib] 20+10 d1 {category=forward value=0.5}"));
  EXPECT_TRUE(shown.has("/ point3 across [nvtx] 40 #1 {}"));
  EXPECT_TRUE(shown.has("/ point4 across [nvtx] 60 #1 {}"));
  EXPECT_TRUE(shown.has("/ point1 mark [nvtx] 45 #0 {}"));
  EXPECT_EQ(shown.events, 6u);
  EXPECT_EQ(shown.losses, std::vector<std::string>{"1 rows without a time"});
}

TEST(NsysImportTest, OtherTablesAreFoundByTheirColumns) {
  const Database database(with_ids(std::string(kTexts) + R"(;
    CREATE TABLE OSRT_API (globalTid INT, nameId INT, end INT, start INT, returnValue INT);
    INSERT INTO OSRT_API VALUES ($THREAD, 4, 20, 10, -1);
    CREATE TABLE CUBLAS_EVENTS (start INT, end INT, globalTid INT, nameId INT);
    INSERT INTO CUBLAS_EVENTS VALUES (30, 40, $THREAD, 9);
    CREATE TABLE SCHED_EVENTS (start INT, cpu INT, isSchedIn INT, globalTid INT);
    INSERT INTO SCHED_EVENTS VALUES (1, 0, 1, $THREAD), (2, 0, 0, $THREAD);
    CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, globalPid INT, deviceId INT, address INT, bytes INT,
      memoryOperationType INT);
    INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (5, $PROCESS, 0, 4096, 512, 0), (6, $PROCESS, 0, 4096, 512, 1);
    CREATE VIEW META AS SELECT * FROM OSRT_API)"));
  const Shown shown = database.shown();
  EXPECT_TRUE(shown.has("/ range poll [os_runtime] 10+10 d0 {return value=-1}"));
  EXPECT_TRUE(shown.has("/ range cublasSgemm [cublas] 30+10 d0 {}"));
  EXPECT_TRUE(shown.has("/memory point8 allocate [memory] 5 #4096 {bytes=512 B device=cuda:0}"));
  EXPECT_TRUE(shown.has("/memory point9 free [memory] 6 #4096 {bytes=512 B device=cuda:0}"));
  EXPECT_EQ(shown.losses, std::vector<std::string>{"2 rows of table SCHED_EVENTS"});
}

TEST(NsysImportTest, OldExportsHaveNoGlobalPidAndNamesAsText) {
  const Database database(with_ids(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, streamId INT, demangledName TEXT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 7, 'old'))"));
  EXPECT_EQ(database.shown().lines, std::vector<std::string>{"/stream 7 range old [kernel] 1+1 d0 {}"});
}

TEST(NsysImportTest, KernelsAndRangesThatEndBeforeTheyStartAreInTheLedger) {
  const Database database(with_ids(R"(CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT,
      contextId INT, streamId INT, correlationId INT, globalPid INT, demangledName TEXT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (200, 100, 0, 1, 7, 42, $PROCESS, 'gemm');
    CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, globalTid INT, text TEXT);
    INSERT INTO NVTX_EVENTS VALUES (50, 40, 60, $THREAD, 'request'))"));
  const Shown shown = database.shown();
  EXPECT_EQ(shown.events, 3u);
  EXPECT_EQ(shown.losses,
            std::vector<std::string>{"2 ends of ranges that are before their starts; the ranges are empty"});
}

TEST(NsysImportTest, OtherFilesAreRefused) {
  const TemporaryFolder folder;
  const Database other("CREATE TABLE users (name TEXT)");
  EXPECT_EQ(format_of(other.path()), Format::Nsys);
  try {
    import_trace(other.path(), folder / "x.kymo");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("it has no table StringIds"), std::string::npos) << error.what();
  }
  std::ofstream(folder / "a b?%.sqlite") << std::string("SQLite format 3\0", 16) << std::string(1000, 'x');
  EXPECT_THROW(import_trace(folder / "a b?%.sqlite", folder / "x.kymo"), Error);
}

TEST(NsysImportTest, NoCodeOfTheFileRuns) {
  // A generated column would compute 40 MB for each row, and a view would never end.
  const Database database(with_ids(std::string(kTexts) + R"(;
    CREATE TABLE OSRT_API (start INT, end INT, globalTid INT, nameId INT,
      textId INT GENERATED ALWAYS AS (length(hex(zeroblob(20000000)))) VIRTUAL);
    INSERT INTO OSRT_API VALUES (10, 20, $THREAD, 4);
    CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT * FROM n)"));
  EXPECT_EQ(database.shown().lines, std::vector<std::string>{"/ range poll [os_runtime] 10+10 d0 {}"});
}

// Every page of the table refers to the same child several times.
TEST(NsysImportTest, PagesThatReferToEachOtherEnd) {
  const Database database(with_ids(std::string(kTexts) + R"(;
    CREATE TABLE OSRT_API (start INT, end INT, globalTid INT, nameId INT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO OSRT_API SELECT i, i + 1, $THREAD, 4 FROM n)"));
  std::ifstream file(database.path(), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t page_size = static_cast<uint8_t>(bytes[16]) << 8 | static_cast<uint8_t>(bytes[17]);
  for (size_t page = page_size; page < bytes.size(); page += page_size) {
    if (bytes[page] != 5) continue;  // an interior page of a table
    const size_t cells = static_cast<uint8_t>(bytes[page + 3]) << 8 | static_cast<uint8_t>(bytes[page + 4]);
    for (size_t cell = 0; cell < cells; ++cell) {  // all point to its last child
      const size_t at = page + 12 + 2 * cell;
      const size_t offset = static_cast<uint8_t>(bytes[at]) << 8 | static_cast<uint8_t>(bytes[at + 1]);
      bytes.replace(page + offset, 4, bytes, page + 8, 4);
    }
  }
  const Shown shown([&](TraceBuilder& builder) {
    SqliteFile memory(SqliteFile::InMemory{bytes});
    return read_nsys(memory, builder);
  });
  EXPECT_LE(shown.events, bytes.size() + (1 << 20));
}

}  // namespace
}  // namespace kymo::import
