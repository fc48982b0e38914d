#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "wire/fabric.h"

namespace kymo::wire {
namespace {

using ::testing::HasSubstr;

TEST(FabricAddressTest, AbstractAddressIncludesItsTrailingNul) {
  const auto address = fabric_address("dynolog");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->length, 2u + 7u + 2u);
  EXPECT_EQ(std::memcmp(address->address.sun_path, "\0dynolog\0", 9), 0);
  EXPECT_EQ(*read_fabric_peer(address->address, address->length), (FabricPeer{"dynolog", true, true}));
}

TEST(FabricAddressTest, ANameInAFolderIsAPath) {
  const auto address = fabric_address("dynolog", "/run/kineto");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->length, 2u + 19u + 1u);
  EXPECT_STREQ(address->address.sun_path, "/run/kineto/dynolog");
  EXPECT_EQ(*read_fabric_peer(address->address, address->length), (FabricPeer{"/run/kineto/dynolog", false, true}));
}

TEST(FabricAddressTest, KernelReturnsTheAddressUnchanged) {
  const auto address = fabric_address(fabric_client_name({7}));
  ASSERT_TRUE(address);
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(socket, 0);
  ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address->address), address->length), 0);
  sockaddr_un bound{};
  socklen_t length = sizeof bound;
  EXPECT_EQ(getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length), 0);
  close(socket);
  EXPECT_EQ(*read_fabric_peer(bound, length), (FabricPeer{fabric_client_name({7}), true, true}));
}

TEST(FabricAddressTest, NameThatDoesNotFitIsRefused) {
  EXPECT_EQ(fabric_address(std::string(106, 'a'))->length, sizeof(sockaddr_un));
  EXPECT_FALSE(fabric_address(std::string(107, 'a')));
  const std::string folder = "/" + std::string(98, 'f');
  EXPECT_EQ(fabric_address("dynolog", folder)->length, sizeof(sockaddr_un));
  const auto refused = fabric_address("dynolog2", folder);  // the name alone would fit
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.reason(), HasSubstr(folder));
  EXPECT_FALSE(fabric_address("dynolog", std::string(5000, '/')));
}

TEST(FabricAddressTest, InvalidNamesAreRefused) {
  EXPECT_FALSE(fabric_address(""));
  EXPECT_FALSE(fabric_address(std::string_view("a\0b", 3)));
  EXPECT_FALSE(fabric_address("a", std::string_view("/tmp\0", 5)));
  EXPECT_FALSE(fabric_address("../a", "/tmp"));
}

TEST(FabricAddressTest, ASenderWithoutANameIsRefused) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  EXPECT_FALSE(read_fabric_peer(address, 0));
  EXPECT_FALSE(read_fabric_peer(address, 2));
  EXPECT_FALSE(read_fabric_peer(address, 3));
  EXPECT_FALSE(read_fabric_peer(address, 4));  // a name that is only its trailing NUL
}

TEST(FabricAddressTest, SenderWithOrWithoutATrailingNulIsRead) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, "\0abc", 4);
  EXPECT_EQ(*read_fabric_peer(address, 2 + 4), (FabricPeer{"abc", true, false}));
  std::memset(address.sun_path, 'x', sizeof address.sun_path);  // a path that fills it has no NUL
  EXPECT_EQ(read_fabric_peer(address, sizeof address)->name, std::string(108, 'x'));
  EXPECT_FALSE(read_fabric_peer(address, sizeof address + 1));
  address.sun_family = AF_INET;
  EXPECT_FALSE(read_fabric_peer(address, 16));
}

TEST(FabricAddressTest, ClientNameIsARandomUuid) {
  EXPECT_EQ(fabric_client_name({}), "dynoconfigclient00000000-0000-4000-8000-000000000000");
  std::array<uint8_t, 16> ones;
  ones.fill(0xff);
  EXPECT_EQ(fabric_client_name(ones), "dynoconfigclientffffffff-ffff-4fff-bfff-ffffffffffff");
}

}  // namespace
}  // namespace kymo::wire
