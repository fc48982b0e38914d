// Modules that the tests of the GLSL emitter write down, compile and run: each about one thing.
#pragma once

#include <string_view>
#include <vector>

#include "shader/emit/glsl_test_module.h"

namespace kymo::shader::glsl_tests {

using Make = void (*)(GlslModule&);

struct Sample {
  std::string_view name;  // of its kernel
  Make make;
};

// The text for it, from `begin` on.
inline std::string glsl_text_of(Make make, std::string_view begin) {
  GlslModule module;
  make(module);
  const std::string text = emit_glsl(module.module()).text;
  const size_t at = text.find(begin);
  return at == std::string::npos ? text : text.substr(at);
}

inline constexpr std::string_view kGlslArguments = "layout(push_constant";

// y[i] = a * x[i] + y[i]
inline void sample_saxpy(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  Function& kernel = m.kernel("saxpy");
  Variable& x = m.buffer(kernel, "x", real);
  Variable& y = m.buffer(kernel, "y", real);
  Variable& a = m.constant_value(kernel, "a", real);
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  const auto at = [&](Variable& of) { return m.element(m.v(of), m.v(i)); };
  kernel.body = {m.declare(i, m.thread()), m.set(at(y), m.add(m.mul(m.v(a), at(x)), at(y)))};
}

// Loads and stores of vectors, all at once and by component.
inline void sample_vectors(GlslModule& m) {
  const Type *float3 = m.number(TypeKind::Float, 3), *float4 = m.number(TypeKind::Float, 4);
  const Type* packed = m.types().vector(m.number(TypeKind::Float), 3, true);
  Function& kernel = m.kernel("vectors");
  Variable& a = m.buffer(kernel, "a", float4);
  Variable& b = m.buffer(kernel, "b", float3);
  Variable& p = m.buffer(kernel, "p", packed);
  Variable& c = m.buffer(kernel, "c", m.number(TypeKind::Char, 4));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Variable& t = m.local("t", float4);
  const auto at = [&](Variable& of) { return m.element(m.v(of), m.v(i)); };
  kernel.body = {
      m.declare(i, m.thread()),
      m.declare(t, m.add(at(a), m.construct(float4, {m.convert(float3, at(p)), m.f(1)}))),
      m.set(m.swizzle(m.v(t), "wx"), m.swizzle(m.v(t), "xy")),
      m.set(m.swizzle(at(a), "zy"), m.swizzle(m.v(t), "xw")),
      m.set(m.index(at(a), 3), m.index(m.v(t), m.rem(m.as(TypeKind::Int, m.v(i)), m.i(4)))),
      m.set(at(b), m.swizzle(m.v(t), "xxy")),
      m.set(at(p), m.convert(packed, m.mul(m.swizzle(m.v(t), "yzw"), m.splat(m.f(2), 3)))),
      m.set(at(c), m.rem(m.add(at(c), m.splat(m.constant_int(100, TypeKind::Char), 4)),
                         m.splat(m.constant_int(7, TypeKind::Char), 4))),
  };
}

// Halfs and bfloats are floats that are rounded after every operation.
inline void sample_half(GlslModule& m) {
  const Type* half4 = m.number(TypeKind::Half, 4);
  Function& kernel = m.kernel("half_and_bfloat");
  Variable& h = m.buffer(kernel, "h", m.number(TypeKind::Half));
  Variable& b = m.buffer(kernel, "b", m.number(TypeKind::BFloat));
  Variable& x = m.buffer(kernel, "x", m.number(TypeKind::Float));
  Variable& v4 = m.buffer(kernel, "v4", half4);
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  const auto at = [&](Variable& of) { return m.element(m.v(of), m.v(i)); };
  const Type* half = m.number(TypeKind::Half);
  kernel.body = {
      m.declare(i, m.thread()),
      m.set(at(h), m.convert(half, m.mul(m.as(TypeKind::Float, at(h)), at(x)))),
      m.set(at(b), m.convert(m.number(TypeKind::BFloat), m.add(m.as(TypeKind::Float, at(b)), at(x)))),
      m.set(at(v4), m.convert(half4, m.mul(m.as(TypeKind::Float, at(v4)), m.splat(at(x), 4)))),
      m.set(at(x), m.convert(m.number(TypeKind::Float), at(h))),
  };
}

// A structure in a buffer: read and written whole, and by member.
inline void sample_structures(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  const Type* inner = m.structure("Inner", {{"a", m.number(TypeKind::UChar)}, {"b", m.number(TypeKind::Short)}});
  const Type* particle = m.structure("Particle", {{"position", m.number(TypeKind::Float, 3)},
                                                  {"weight", m.number(TypeKind::Half)},
                                                  {"alive", m.number(TypeKind::Bool)},
                                                  {"inner", inner},
                                                  {"history", m.array(real, 3)},
                                                  {"packed", m.types().vector(real, 3, true)}});
  Function& move = m.function("moved", particle);
  {
    Variable& p = m.parameter(move, "p", particle);
    move.body = {m.set(m.index(m.member(m.v(p), "history"), 1), m.index(m.member(m.v(p), "position"), 2)),
                 m.set(m.member(m.v(p), "position"), m.add(m.member(m.v(p), "position"), m.splat(m.f(1), 3))),
                 m.return_(m.v(p))};
  }
  Function& kernel = m.kernel("structures");
  Variable& list = m.buffer(kernel, "list", particle);
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  const auto at = [&] { return m.element(m.v(list), m.v(i)); };
  const Value short_one = m.constant_int(1, TypeKind::Int);
  kernel.body = {
      m.declare(i, m.thread()),
      m.set(at(), m.call(move, {at()})),
      m.set(m.member(at(), "alive"), m.unary(Operator::Not, m.member(at(), "alive"))),
      m.set(m.member(m.member(at(), "inner"), "b"),
            m.as(TypeKind::Short, m.add(m.as(TypeKind::Int, m.member(m.member(at(), "inner"), "b")), short_one))),
      m.set(m.member(at(), "weight"), m.convert(m.number(TypeKind::Half), m.f(0.1F))),
      m.set(m.index(m.member(at(), "history"), m.as(TypeKind::Int, m.v(i))), m.f(9)),
      m.set(m.index(m.member(at(), "packed"), 1), m.index(m.member(at(), "history"), 1)),
  };
}

// Pointers to variables: elements, members, rows of nested arrays, one that walks, one that may be null.
inline void sample_pointers(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  const Type* thread_real = m.to(real, Space::Thread);
  const Type* pair = m.structure("Pair", {{"x", real}, {"y", real}});
  Function& bump = m.function("bump", m.number(TypeKind::Void));
  {
    Variable& p = m.parameter(bump, "p", thread_real);
    bump.body = {m.set(m.deref(m.v(p)), m.add(m.mul(m.deref(m.v(p)), m.f(3)), m.f(1)))};
  }
  Function& total = m.function("total", real);
  {
    Variable& p = m.parameter(total, "p", thread_real);
    Variable& count = m.parameter(total, "count", m.number(TypeKind::Int));
    Variable& sum = m.local("sum", real);
    Variable& end = m.local("end", thread_real);
    total.body = {m.declare(sum, m.f(0)), m.declare(end, m.pointer_add(m.v(p), m.v(count))),
                  m.loop(m.ne(m.v(p), m.v(end)), {m.increase(sum, m.deref(m.v(p)))},
                         {m.set(m.v(p), m.pointer_add(m.v(p), m.i(1)))}),
                  m.return_(m.v(sum))};
  }
  Function& kernel = m.kernel("pointers");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& i = m.local("i", m.number(TypeKind::Int));
  Variable& pairs = m.local("pairs", m.array(pair, 4));
  Variable& grid = m.local("grid", m.array(m.array(real, 3), 2));
  Variable& single = m.local("single", real);
  Variable& maybe = m.local("maybe", thread_real);
  const auto element_of = [&](Variable& of, Value position) { return m.index(m.v(of), position); };
  kernel.body = {
      m.declare(i, m.as(TypeKind::Int, m.thread())),
      m.declare(pairs, m.zero(pairs.type)),
      m.declare(grid, m.zero(grid.type)),
      m.declare(single, m.f(5)),
      m.declare(maybe, m.null(thread_real)),
      m.evaluate(m.call(bump, {m.address_of(m.v(single))})),
      m.evaluate(m.call(bump, {m.address_of(m.member(element_of(pairs, m.rem(m.v(i), m.i(4))), "y"))})),
      m.set(m.index(m.index(m.v(grid), 1), 2), m.f(7)),
      m.evaluate(m.call(bump, {m.decay(m.index(m.v(grid), 1))})),
      m.if_(m.gt(m.v(i), m.i(1)), {m.set(m.v(maybe), m.address_of(m.v(single)))}),
      m.if_(m.ne(m.v(maybe), m.null(thread_real)), {m.set(m.deref(m.v(maybe)), m.f(100))}),
      m.set(m.element(m.v(out), m.v(i)),
            m.add(m.add(m.v(single), m.member(element_of(pairs, m.rem(m.v(i), m.i(4))), "y")),
                  m.call(total, {m.address_of(m.index(m.index(m.v(grid), 0), 0)), m.i(6)}))),
  };
}

// A lambda that captures by reference: a structure with pointers to variables in it.
inline void sample_closures(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  const Type* closure =
      m.structure("lambda", {{"sum", m.to(real, Space::Thread)}, {"row", m.to(real, Space::Thread)}, {"scale", real}});
  Function& body = m.function("lambda::operator()", m.number(TypeKind::Void));
  {
    Variable& self = m.parameter(body, "self", m.to(closure, Space::Thread));
    Variable& at = m.parameter(body, "at", m.number(TypeKind::Int));
    const auto part = [&](std::string_view name) { return m.member(m.deref(m.v(self)), name); };
    body.body = {m.set(m.deref(part("sum")),
                       m.add(m.deref(part("sum")), m.mul(m.element(part("row"), m.v(at)), part("scale"))))};
  }
  Function& kernel = m.kernel("closures");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& i = m.local("i", m.number(TypeKind::Int));
  Variable& sum = m.local("sum", real);
  Variable& row = m.local("row", m.array(real, 4));
  Variable& call = m.local("call", closure);
  Variable& k = m.local("k", m.number(TypeKind::Int));
  kernel.body = {
      m.declare(i, m.as(TypeKind::Int, m.thread())),
      m.declare(sum, m.f(0)),
      m.declare(row, m.construct(row.type, {m.f(1), m.f(2), m.f(3), m.f(4)})),
      m.declare(call,
                m.construct(closure, {m.address_of(m.v(sum)), m.pointer_add(m.decay(m.v(row)), m.i(1)), m.f(10)})),
      m.declare(k, m.i(0)),
      m.loop(m.lt(m.v(k), m.i(3)), {m.evaluate(m.call(body, {m.address_of(m.v(call)), m.v(k)}))},
             {m.increase(k, m.i(1))}),
      m.set(m.element(m.v(out), m.v(i)), m.v(sum)),
  };
}

// Threads that share memory of their own and memory that the caller sizes.
inline void sample_groups(GlslModule& m) {
  const Type* real = m.number(TypeKind::Float);
  Function& first = m.function("first_of", real);
  {
    Variable& p = m.parameter(first, "p", m.to(real, Space::Threadgroup));
    Variable& at = m.parameter(first, "at", m.number(TypeKind::UInt));
    first.body = {m.return_(m.element(m.v(p), m.v(at)))};
  }
  Function& kernel = m.kernel("groups");
  Variable& out = m.buffer(kernel, "out", real);
  Variable& given = m.group_memory(kernel, "given", real);
  Variable& tile = m.shared("tile", m.array(m.array(real, 8), 8));
  Variable& sums = m.shared("sums", m.types().atomic(m.number(TypeKind::Float)));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Variable& l = m.local("l", m.number(TypeKind::UInt));
  const auto group_barrier = [&] { return m.evaluate(m.intrinsic(Intrinsic::GroupBarrier, {}, 2)); };
  const auto in_tile = [&](Value row, Value column) { return m.index(m.index(m.v(tile), row), column); };
  const Value other = m.sub(m.u(63), m.v(l));
  kernel.body = {
      m.declare(tile),
      m.declare(sums),
      m.declare(i, m.thread()),
      m.declare(l, m.index(m.intrinsic(Intrinsic::GroupPosition), 0)),
      m.if_(m.eq(m.v(l), m.u(0)), {m.evaluate(m.intrinsic(Intrinsic::AtomicStore, {m.address_of(m.v(sums)), m.f(0)}))}),
      m.set(in_tile(m.div(m.v(l), m.u(8)), m.rem(m.v(l), m.u(8))), m.element(m.v(out), m.v(i))),
      m.set(m.element(m.v(given), m.v(l)), m.mul(m.element(m.v(out), m.v(i)), m.f(2))),
      group_barrier(),
      m.evaluate(m.intrinsic(Intrinsic::AtomicAdd, {m.address_of(m.v(sums)), m.f(1)})),
      group_barrier(),
      m.set(m.element(m.v(out), m.v(i)),
            m.add(m.add(m.call(first, {m.decay(m.index(m.v(tile), 0)), other}), m.call(first, {m.v(given), other})),
                  m.intrinsic(Intrinsic::AtomicLoad, {m.address_of(m.v(sums))}))),
  };
}

}  // namespace kymo::shader::glsl_tests
