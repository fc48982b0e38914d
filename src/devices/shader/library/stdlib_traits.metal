// More traits of types, built on the compiler's own questions: __is_empty(T) and others.

namespace metal {

template <typename T> struct remove_extent { using type = T; };
template <typename T, uint N> struct remove_extent<T[N]> { using type = T; };
template <typename T> using remove_extent_t = typename remove_extent<T>::type;
template <typename T> struct remove_all_extents { using type = T; };
template <typename T, uint N> struct remove_all_extents<T[N]> { using type = typename remove_all_extents<T>::type; };
template <typename T> using remove_all_extents_t = typename remove_all_extents<T>::type;
template <typename T> struct rank : integral_constant<size_t, 0> {};
template <typename T, uint N> struct rank<T[N]> : integral_constant<size_t, rank<T>::value + 1> {};
template <typename T> constant constexpr size_t rank_v = rank<T>::value;

template <typename T> struct kymo_pointee { using type = T; };
template <typename T> struct kymo_pointee<thread T*> { using type = T; };
template <typename T> struct kymo_pointee<device T*> { using type = T; };
template <typename T> struct kymo_pointee<constant T*> { using type = T; };
template <typename T> struct kymo_pointee<threadgroup T*> { using type = T; };
template <typename T> struct remove_pointer : kymo_pointee<kymo_remove_const<T>> {};
template <typename T> using remove_pointer_t = typename remove_pointer<T>::type;

template <typename T> struct add_const { using type = const T; };
template <typename T> using add_const_t = const T;
template <typename T> struct add_cv { using type = const T; };
template <typename T> using add_cv_t = const T;
template <typename T> struct remove_volatile { using type = T; };
template <typename T> using remove_volatile_t = T;
template <typename T> struct add_volatile { using type = T; };
template <typename T> using add_volatile_t = T;
template <typename T> struct type_identity { using type = T; };
template <typename T> using type_identity_t = T;

template <typename T> struct is_array : bool_constant<__is_array(T)> {};
template <typename T> struct is_class : bool_constant<__is_class(T)> {};
template <typename T> struct is_empty : bool_constant<__is_empty(T)> {};
template <typename T> struct is_enum : bool_constant<__is_enum(T)> {};
template <typename T> struct is_function : bool_constant<__is_function(T)> {};
template <typename T> struct is_lvalue_reference : bool_constant<__is_lvalue_reference(T)> {};
template <typename T> struct is_reference : bool_constant<__is_reference(T)> {};
template <typename T> struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <typename T> struct is_union : bool_constant<__is_union(T)> {};
template <typename T> struct is_volatile : false_type {};
template <typename T> struct is_fundamental : bool_constant<__is_arithmetic(T) || __is_void(T)> {};
template <typename T> struct is_object : bool_constant<!__is_reference(T) && !__is_void(T)> {};
template <typename From, typename To> struct is_convertible : bool_constant<__is_convertible(From, To)> {};
template <typename Base, typename Derived> struct is_base_of : bool_constant<__is_base_of(Base, Derived)> {};
template <typename T, typename... Args> struct is_constructible : bool_constant<__is_constructible(T, Args...)> {};
template <typename T> struct is_default_constructible : bool_constant<__is_constructible(T)> {};
template <typename T> struct is_copy_constructible : bool_constant<__is_constructible(T, T)> {};
template <typename T, typename U> struct is_assignable : bool_constant<__is_assignable(T, U)> {};

template <typename T> constant constexpr bool is_array_v = __is_array(T);
template <typename T> constant constexpr bool is_class_v = __is_class(T);
template <typename T> constant constexpr bool is_empty_v = __is_empty(T);
template <typename T> constant constexpr bool is_enum_v = __is_enum(T);
template <typename T> constant constexpr bool is_function_v = __is_function(T);
template <typename T> constant constexpr bool is_lvalue_reference_v = __is_lvalue_reference(T);
template <typename T> constant constexpr bool is_reference_v = __is_reference(T);
template <typename T> constant constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);
template <typename T> constant constexpr bool is_union_v = __is_union(T);
template <typename T> constant constexpr bool is_volatile_v = false;
template <typename T> constant constexpr bool is_fundamental_v = __is_arithmetic(T) || __is_void(T);
template <typename T> constant constexpr bool is_object_v = !__is_reference(T) && !__is_void(T);
template <typename From, typename To> constant constexpr bool is_convertible_v = __is_convertible(From, To);
template <typename Base, typename Derived> constant constexpr bool is_base_of_v = __is_base_of(Base, Derived);
template <typename T, typename... Args> constant constexpr bool is_constructible_v = __is_constructible(T, Args...);
template <typename T> constant constexpr bool is_default_constructible_v = __is_constructible(T);
template <typename T> constant constexpr bool is_copy_constructible_v = __is_constructible(T, T);
template <typename T, typename U> constant constexpr bool is_assignable_v = __is_assignable(T, U);

template <typename... Ts> struct conjunction : bool_constant<(bool(Ts::value) && ...)> {};
template <typename... Ts> struct disjunction : bool_constant<(bool(Ts::value) || ...)> {};
template <typename T> struct negation : bool_constant<!bool(T::value)> {};
template <typename... Ts> constant constexpr bool conjunction_v = (bool(Ts::value) && ...);
template <typename... Ts> constant constexpr bool disjunction_v = (bool(Ts::value) || ...);
template <typename T> constant constexpr bool negation_v = !bool(T::value);
template <typename... Ts> using _conjunction = conjunction<Ts...>;
template <typename... Ts> using _disjunction = disjunction<Ts...>;
template <typename T> using _negation = negation<T>;

}  // namespace metal
