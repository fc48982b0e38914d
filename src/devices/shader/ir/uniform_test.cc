#include "shader/ir/uniform.h"

#include "shader/ir/test_kernel.h"

namespace kymo::shader::ir {
namespace {

class UniformTest : public KernelTest {
 protected:
  Variable& pointer(const char* name, Space space, bool is_const) {
    const BindingKind kind = space == Space::Threadgroup ? BindingKind::Threadgroup : BindingKind::Buffer;
    return b.binding(kernel, name, kind, module.types.pointer(integer(), space, is_const));
  }
  bool varies(E e) { return Uniformity(module).varies(*e); }
  E shared_function(Statement* body, E argument) {
    Function& f = b.function("f", integer());
    f.parameters = {&parameter};
    f.body = {body};
    module.functions = {&f, &kernel};
    return b.call(f, {argument});
  }

  Variable& x = b.local("x", integer());
  Variable& parameter = [this]() -> Variable& {
    Variable& made = b.local("p", integer());
    made.is_parameter = true;
    return made;
  }();
};

TEST_F(UniformTest, ValuesAreUniform) {
  EXPECT_FALSE(varies(b.binary(Operator::Add, var(n), i(1))));
  EXPECT_FALSE(varies(b.intrinsic(Intrinsic::GroupIndex)));
  EXPECT_FALSE(varies(b.intrinsic(Intrinsic::GroupAny, {less(lane(), i(1))})));
  EXPECT_TRUE(varies(b.binary(Operator::Add, var(n), lane())));
  EXPECT_TRUE(varies(b.intrinsic(Intrinsic::GridPosition)));
  EXPECT_TRUE(varies(b.intrinsic(Intrinsic::SimdSum, {i(1)})));
}

TEST_F(UniformTest, ConstantMemoryIsUniform) {
  const Variable &c = pointer("c", Space::Constant, true), &d = pointer("d", Space::Device, false);
  const Variable& t = pointer("t", Space::Threadgroup, false);
  EXPECT_FALSE(varies(b.element(var(c), var(n))));
  EXPECT_TRUE(varies(b.element(var(c), lane())));
  EXPECT_TRUE(varies(b.element(var(d), i(0))));
  EXPECT_TRUE(varies(b.element(var(t), i(0))));
}

TEST_F(UniformTest, AVariableIsAsUniformAsItsValue) {
  kernel.body = {b.declare(x, i(0)), b.assign(var(x), var(n))};
  EXPECT_FALSE(varies(var(x)));
  kernel.body.push_back(b.if_(less(lane(), i(3)), {b.assign(var(x), i(1))}));
  EXPECT_TRUE(varies(var(x)));
  kernel.body.back() = b.assign(var(x), lane());
  EXPECT_TRUE(varies(var(x)));
  kernel.body.back() = b.if_(less(var(n), i(3)), {b.assign(var(x), i(1))});
  EXPECT_FALSE(varies(var(x)));
}

TEST_F(UniformTest, APointerMayChangeAVariableUnlessItIsConst) {
  const Type* read_only = module.types.pointer(integer(), Space::Thread, true);
  const E address = b.address_of(var(x));
  Variable& p = b.local("p", read_only);
  kernel.body = {b.declare(x, var(n)), b.declare(p, b.pointer_cast(read_only, address))};
  EXPECT_FALSE(varies(var(x)));
  Variable& q = b.local("q", address->type);
  kernel.body.push_back(b.declare(q, b.pointer_cast(address->type, var(p))));
  EXPECT_TRUE(varies(var(x)));
  kernel.body.back() = b.declare(q, address);
  EXPECT_TRUE(varies(var(x)));
}

TEST_F(UniformTest, AConstReferenceIsAsUniformAsItsVariables) {
  const Type* read_only = module.types.pointer(integer(), Space::Thread, true);
  Variable& y = b.local("y", integer());
  parameter.type = read_only;
  const E argument = b.pointer_cast(read_only, b.address_of(var(x)));
  const E contents = b.deref(var(parameter));
  const E call = shared_function(b.return_(contents), argument);
  kernel.body = {b.declare(x, var(n)), b.evaluate(call)};
  EXPECT_FALSE(varies(call));
  EXPECT_FALSE(varies(contents));
  kernel.body = {b.declare(x, lane()), b.evaluate(call)};
  EXPECT_TRUE(varies(call));
  EXPECT_TRUE(varies(contents));
  const E other = b.call(*call->function, {b.pointer_cast(read_only, b.address_of(var(y)))});
  kernel.body = {b.declare(x, var(n)), b.evaluate(call), b.declare(y, lane()), b.evaluate(other)};
  EXPECT_FALSE(varies(call));
  EXPECT_TRUE(varies(other));
  EXPECT_TRUE(varies(contents));
}

TEST_F(UniformTest, ConstDeviceMemoryIsUniformOnlyForWarnings) {
  const Variable &c = pointer("c", Space::Device, true), &d = pointer("d", Space::Device, false);
  const Uniformity trusting(module, Uniformity::ConstMemory::Stays);
  EXPECT_FALSE(trusting.varies(*b.element(var(c), var(n))));
  EXPECT_TRUE(trusting.varies(*b.element(var(c), lane())));
  EXPECT_TRUE(trusting.varies(*b.element(var(d), var(n))));
  EXPECT_TRUE(varies(b.element(var(c), var(n))));
}

TEST_F(UniformTest, LoopsPropagateDivergence) {
  Variable& y = b.local("y", integer());
  Statement* loop = b.loop(less(var(x), var(n)), {b.assign(var(x), var(y)), b.assign(var(y), lane())});
  kernel.body = {b.declare(x, i(0)), b.declare(y, i(0)), loop};
  EXPECT_TRUE(varies(var(x)));
  EXPECT_TRUE(Uniformity(module).diverges(*loop));
  loop->body = {b.assign(var(x), b.binary(Operator::Add, var(x), i(1)))};
  EXPECT_FALSE(Uniformity(module).diverges(*loop));
  loop->body.push_back(b.if_(less(lane(), i(3)), {b.continue_()}));
  EXPECT_TRUE(Uniformity(module).diverges(*loop));
  EXPECT_TRUE(varies(var(x)));
}

TEST_F(UniformTest, AnEarlyReturnDiverges) {
  Statement* leaving = b.if_(less(lane(), i(3)), {b.return_()});
  const E sum = b.intrinsic(Intrinsic::SimdSum, {i(1)});
  kernel.body = {leaving, b.evaluate(sum)};
  EXPECT_TRUE(Uniformity(module).may_return_apart(*leaving));
  EXPECT_TRUE(Uniformity(module).collectives_apart().contains(sum));
  leaving->value = less(var(n), i(3));
  EXPECT_FALSE(Uniformity(module).may_return_apart(*leaving));
  EXPECT_TRUE(Uniformity(module).collectives_apart().empty());
}

TEST_F(UniformTest, TheRightSideOfAndIsABranch) {
  const E sum = b.intrinsic(Intrinsic::SimdSum, {i(1)});
  kernel.body = {b.evaluate(b.logical_and(less(lane(), i(3)), less(sum, i(3))))};
  EXPECT_TRUE(Uniformity(module).collectives_apart().contains(sum));
  kernel.body = {b.evaluate(b.logical_and(less(sum, i(3)), less(lane(), i(3))))};
  EXPECT_TRUE(Uniformity(module).collectives_apart().empty());
}

TEST_F(UniformTest, AResultIsAsUniformAsItsArguments) {
  const E same = shared_function(b.return_(b.binary(Operator::Add, var(parameter), i(1))), var(n));
  kernel.body = {b.declare(x, same)};
  EXPECT_FALSE(varies(var(x)));
  EXPECT_FALSE(varies(var(parameter)));
  kernel.body = {b.declare(x, b.call(*same->function, {lane()}))};
  EXPECT_TRUE(varies(var(x)));
  EXPECT_TRUE(varies(var(parameter)));
  kernel.body = {b.declare(x, shared_function(b.return_(lane()), var(n)))};
  EXPECT_TRUE(varies(var(x)));
}

TEST_F(UniformTest, LongChainsOfDivergenceAreFast) {
  std::vector<Variable*> chain;
  Block body;
  for (int k = 0; k < 2000; ++k) {
    chain.push_back(&b.local("v", integer()));
    kernel.body.push_back(b.declare(*chain.back(), i(0)));
    if (k > 0) body.push_back(b.assign(var(*chain[chain.size() - 2]), var(*chain.back())));
  }
  body.push_back(b.assign(var(*chain.back()), lane()));
  kernel.body.push_back(b.loop(less(i(0), var(n)), std::move(body)));
  EXPECT_TRUE(varies(var(*chain.front())));
}

}  // namespace
}  // namespace kymo::shader::ir
