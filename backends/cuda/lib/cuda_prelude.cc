// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cuda_prelude.h"

namespace tandem::cuda {

// Scalars of one type have functions of their own; two of different ones, of which one is a number without a type, are
// brought to a common one. Vectors work on their elements.
const std::string_view kCudaPrelude = R"cuda(
#ifdef __CUDACC__
#define W_FN __device__ __forceinline__
#define W_UNROLL _Pragma("unroll")
#define W_CHECK_INDEX(i, n)
#endif
#define W_EACH(N) W_UNROLL for (int i = 0; i < N; ++i)

template <class T> struct w_same { using type = T; };
template <class T> using w_id = typename w_same<T>::type;
template <class T> struct w_type {};
struct w_half { unsigned short bits; };
struct w_bf16 { unsigned short bits; };

template <class T, class S> W_FN T w_bitcast(S x) {
  static_assert(sizeof(T) == sizeof(S), "a bitcast is between types of one size");
  T y;
  memcpy(&y, &x, sizeof(T));
  return y;
}

#ifdef __CUDACC__
W_FN float w_widen(w_half x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
W_FN w_half w_narrow(float x) { w_half y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); return y; }
#else
W_FN float w_widen(w_half x) { return w_float_of_half(x.bits); }
W_FN w_half w_narrow(float x) { return {w_half_of_float(x)}; }
#endif
W_FN float w_widen(w_bf16 x) { return w_bitcast<float>(static_cast<unsigned>(x.bits) << 16); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
W_FN w_bf16 w_narrow_bf16(float x) { w_bf16 y; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); return y; }
#else
W_FN w_bf16 w_narrow_bf16(float x) {
  const unsigned bits = w_bitcast<unsigned>(x);
  if (x != x) return {0x7fffu};
  return {static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
#endif

struct alignas(8) w_complex {
  float re, im;
  w_complex() = default;
  W_FN constexpr w_complex(float real, float imaginary = 0.0f) : re(real), im(imaginary) {}
};
W_FN constexpr w_complex operator+(w_complex a, w_complex b) { return {a.re + b.re, a.im + b.im}; }
W_FN constexpr w_complex operator-(w_complex a, w_complex b) { return {a.re - b.re, a.im - b.im}; }
W_FN constexpr w_complex operator-(w_complex a) { return {-a.re, -a.im}; }
W_FN constexpr w_complex operator*(w_complex a, w_complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
W_FN constexpr bool operator==(w_complex a, w_complex b) { return a.re == b.re && a.im == b.im; }
W_FN constexpr bool operator!=(w_complex a, w_complex b) { return !(a == b); }
W_FN float w_real_of(w_complex x) { return x.re; }
W_FN float w_imag_of(w_complex x) { return x.im; }

// To f32 so that a further rounding gives what rounding at once would: inexact results get an odd last bit, on the side
// of 0 (Boldo and Melquiond, "When double rounding is odd", 2004).
W_FN float w_round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = nearest;
  unsigned bits = w_bitcast<unsigned>(nearest);
  if (x == x && back != x) bits = (bits - (x > 0.0 ? back > x : back < x)) | 1u;
  return w_bitcast<float>(bits);
}
// An integer that a double holds, and that is rounded in the same way: what is lost leaves one bit.
template <class T> W_FN double w_to_double_odd(T x) {
  if constexpr (sizeof(T) < 8) {
    return static_cast<double>(x);
  } else {
    constexpr T end = static_cast<T>(1ll << 53);
    const bool is_held = x < end && (static_cast<T>(-1) > static_cast<T>(0) || x > static_cast<T>(0 - end));
    const T kept = static_cast<T>(x & ~static_cast<T>(4095));
    return static_cast<double>(is_held || x == kept ? x : static_cast<T>(kept | 2048));
  }
}
// Towards 0; what is beyond gives the first and the last integer, NaN gives 0. `end`: the first number beyond.
template <class I, class F> W_FN constexpr I w_saturated(F x, I first, I last, F end) {
  return x >= end ? last : x > static_cast<F>(first) ? static_cast<I>(x) : x == x ? first : static_cast<I>(0);
}

template <class T, class S> W_FN constexpr T w_cast(S x, w_type<T>) { return static_cast<T>(x); }
W_FN int w_cast(float x, w_type<int>) { return __float2int_rz(x); }
W_FN unsigned w_cast(float x, w_type<unsigned>) { return __float2uint_rz(x); }
W_FN constexpr int w_cast(double x, w_type<int>) { return w_saturated(x, -2147483647 - 1, 2147483647, 2147483648.0); }
W_FN constexpr unsigned w_cast(double x, w_type<unsigned>) { return w_saturated(x, 0u, 4294967295u, 4294967296.0); }
template <class F> W_FN constexpr long long w_to_i64(F x) {
  return w_saturated(x, -9223372036854775807ll - 1, 9223372036854775807ll, static_cast<F>(9223372036854775808.0));
}
template <class F> W_FN constexpr unsigned long long w_to_u64(F x) {
  return w_saturated(x, 0ull, 18446744073709551615ull, static_cast<F>(18446744073709551616.0));
}
W_FN constexpr long long w_cast(float x, w_type<long long>) { return w_to_i64(x); }
W_FN constexpr long long w_cast(double x, w_type<long long>) { return w_to_i64(x); }
W_FN constexpr unsigned long long w_cast(float x, w_type<unsigned long long>) { return w_to_u64(x); }
W_FN constexpr unsigned long long w_cast(double x, w_type<unsigned long long>) { return w_to_u64(x); }
W_FN w_half w_cast(w_half x, w_type<w_half>) { return x; }
W_FN w_bf16 w_cast(w_bf16 x, w_type<w_bf16>) { return x; }
W_FN w_bf16 w_cast(w_half x, w_type<w_bf16>) { return w_narrow_bf16(w_widen(x)); }
W_FN w_half w_cast(w_bf16 x, w_type<w_half>) { return w_narrow(w_widen(x)); }
template <class T> W_FN T w_cast(w_half x, w_type<T> t) { return w_cast(w_widen(x), t); }
template <class T> W_FN T w_cast(w_bf16 x, w_type<T> t) { return w_cast(w_widen(x), t); }
// Integers beyond what f32 holds are beyond f16, too.
template <class S> W_FN w_half w_cast(S x, w_type<w_half>) { return w_narrow(static_cast<float>(x)); }
W_FN w_half w_cast(double x, w_type<w_half>) { return w_narrow(w_round_to_odd(x)); }
template <class S> W_FN w_bf16 w_cast(S x, w_type<w_bf16>) { return w_narrow_bf16(w_round_to_odd(w_to_double_odd(x))); }
W_FN w_bf16 w_cast(float x, w_type<w_bf16>) { return w_narrow_bf16(x); }
W_FN w_bf16 w_cast(double x, w_type<w_bf16>) { return w_narrow_bf16(w_round_to_odd(x)); }
template <class S> W_FN constexpr w_complex w_cast(S x, w_type<w_complex>) { return w_complex(static_cast<float>(x)); }
W_FN constexpr w_complex w_cast(w_complex x, w_type<w_complex>) { return x; }
W_FN w_complex w_cast(w_half x, w_type<w_complex>) { return w_complex(w_widen(x)); }
W_FN w_complex w_cast(w_bf16 x, w_type<w_complex>) { return w_complex(w_widen(x)); }
template <class T, class S> W_FN constexpr T w_to(S x) { return w_cast(x, w_type<T>{}); }

template <class T, unsigned N> struct w_array {
  T e[N];
  W_FN constexpr T& operator[](unsigned i) { W_CHECK_INDEX(i, N); return e[i]; }
  W_FN constexpr const T& operator[](unsigned i) const { W_CHECK_INDEX(i, N); return e[i]; }
};

// What is read at once has 16 bytes at most.
template <unsigned bytes> struct w_align { static constexpr unsigned value = bytes < 16u ? bytes : 16u; };
template <class T, int N> struct alignas(w_align<sizeof(T) * (N == 3 ? 4 : N)>::value) w_vec {
  T e[N];
  w_vec() = default;
  template <class... A> W_FN constexpr explicit w_vec(A... parts) : e{} {
    if constexpr (sizeof...(A) == 1) {
      (fill(parts), ...);
    } else {
      int at = 0;
      (put(at, parts), ...);
    }
  }
  W_FN constexpr T& operator[](unsigned i) { W_CHECK_INDEX(i, N); return e[i]; }
  W_FN constexpr const T& operator[](unsigned i) const { W_CHECK_INDEX(i, N); return e[i]; }
  template <class S> W_FN constexpr void fill(S x) { W_EACH(N) e[i] = w_to<T>(x); }
  template <class S> W_FN constexpr void fill(w_vec<S, N> x) { W_EACH(N) e[i] = w_to<T>(x.e[i]); }
  template <class S> W_FN constexpr void put(int& at, S x) { e[at++] = w_to<T>(x); }
  template <class S, int M> W_FN constexpr void put(int& at, w_vec<S, M> x) { W_EACH(M) e[at++] = w_to<T>(x.e[i]); }
};
template <int... P, class T, int N> W_FN constexpr w_vec<T, sizeof...(P)> w_swizzle(w_vec<T, N> x) {
  return w_vec<T, sizeof...(P)>(x[P]...);
}

// ---- Operators.
#define W_VECTOR_OPERATOR(NAME, R) \
  template <class T, int N> W_FN constexpr w_vec<R, N> NAME(w_vec<T, N> a, w_vec<T, N> b) { \
    w_vec<R, N> c{}; \
    W_EACH(N) c.e[i] = NAME(a.e[i], b.e[i]); \
    return c; \
  } \
  template <class T, int N> W_FN constexpr w_vec<R, N> NAME(w_vec<T, N> a, w_id<T> b) { \
    w_vec<R, N> c{}; \
    W_EACH(N) c.e[i] = NAME(a.e[i], b); \
    return c; \
  } \
  template <class T, int N> W_FN constexpr w_vec<R, N> NAME(w_id<T> a, w_vec<T, N> b) { \
    w_vec<R, N> c{}; \
    W_EACH(N) c.e[i] = NAME(a, b.e[i]); \
    return c; \
  }
#define W_MIXED_OPERATOR(NAME) \
  template <class A, class B, class T = decltype(A() + B())> W_FN constexpr auto NAME(A a, B b) { \
    return NAME(static_cast<T>(a), static_cast<T>(b)); \
  }
#define W_ARITHMETIC(NAME, OP) \
  template <class T> W_FN constexpr T NAME(T a, T b) { return static_cast<T>(a OP b); } \
  W_FN constexpr int NAME(int a, int b) { return static_cast<int>(static_cast<unsigned>(a) OP static_cast<unsigned>(b)); } \
  W_FN constexpr long long NAME(long long a, long long b) { \
    return static_cast<long long>(static_cast<unsigned long long>(a) OP static_cast<unsigned long long>(b)); \
  } \
  W_FN w_half NAME(w_half a, w_half b) { return w_narrow(w_widen(a) OP w_widen(b)); } \
  W_MIXED_OPERATOR(NAME) \
  W_VECTOR_OPERATOR(NAME, T)
W_ARITHMETIC(w_add, +) W_ARITHMETIC(w_sub, -) W_ARITHMETIC(w_mul, *)

template <class T> W_FN constexpr T w_neg(T x) { return -x; }
W_FN constexpr int w_neg(int x) { return static_cast<int>(0u - static_cast<unsigned>(x)); }
W_FN constexpr long long w_neg(long long x) { return static_cast<long long>(0ull - static_cast<unsigned long long>(x)); }
W_FN w_half w_neg(w_half x) { return {static_cast<unsigned short>(x.bits ^ 0x8000u)}; }
template <class T> W_FN constexpr T w_not(T x) { return static_cast<T>(~x); }
W_FN constexpr bool w_lnot(bool x) { return !x; }
#define W_VECTOR_FUNCTION(NAME) \
  template <class T, int N> W_FN constexpr w_vec<T, N> NAME(w_vec<T, N> x) { \
    w_vec<T, N> y{}; \
    W_EACH(N) y.e[i] = NAME(x.e[i]); \
    return y; \
  }
W_VECTOR_FUNCTION(w_neg) W_VECTOR_FUNCTION(w_not) W_VECTOR_FUNCTION(w_lnot)

template <class T> W_FN constexpr T w_div(T a, T b) { return b == 0 ? a : static_cast<T>(a / b); }
W_FN constexpr int w_div(int a, int b) { return b == 0 ? a : b == -1 ? w_neg(a) : a / b; }
W_FN constexpr long long w_div(long long a, long long b) { return b == 0 ? a : b == -1 ? w_neg(a) : a / b; }
W_FN constexpr float w_div(float a, float b) { return a / b; }
W_FN constexpr double w_div(double a, double b) { return a / b; }
// Smith's quotient needs no care where all is computed in f64.
W_FN w_complex w_div(w_complex a, w_complex b) {
  const double x = b.re, y = b.im, size = x * x + y * y;
  return w_complex(static_cast<float>((a.re * x + a.im * y) / size), static_cast<float>((a.im * x - a.re * y) / size));
}
W_FN w_half w_div(w_half a, w_half b) { return w_narrow(w_widen(a) / w_widen(b)); }
W_MIXED_OPERATOR(w_div) W_VECTOR_OPERATOR(w_div, T)
template <class T> W_FN constexpr T w_mod(T a, T b) { return b == 0 ? static_cast<T>(0) : static_cast<T>(a % b); }
W_FN constexpr int w_mod(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }
W_FN constexpr long long w_mod(long long a, long long b) { return b == 0 || b == -1 ? 0 : a % b; }
W_FN float w_mod(float a, float b) { return fmodf(a, b); }
W_FN double w_mod(double a, double b) { return fmod(a, b); }
W_FN w_half w_mod(w_half a, w_half b) { return w_narrow(fmodf(w_widen(a), w_widen(b))); }
W_MIXED_OPERATOR(w_mod) W_VECTOR_OPERATOR(w_mod, T)

#define W_BITWISE(NAME, OP) \
  template <class T> W_FN constexpr T NAME(T a, T b) { return static_cast<T>(a OP b); } \
  W_MIXED_OPERATOR(NAME) \
  W_VECTOR_OPERATOR(NAME, T)
W_BITWISE(w_and, &) W_BITWISE(w_or, |) W_BITWISE(w_xor, ^)
template <class T> W_FN constexpr T w_shl(T a, unsigned n) { return static_cast<T>(a << (n & (8 * sizeof(T) - 1))); }
W_FN constexpr long long w_shl(long long a, unsigned n) { return static_cast<long long>(static_cast<unsigned long long>(a) << (n & 63u)); }
W_FN constexpr int w_shl(int a, unsigned n) { return static_cast<int>(static_cast<unsigned>(a) << (n & 31u)); }
template <class T> W_FN constexpr T w_shr(T a, unsigned n) { return static_cast<T>(a >> (n & (8 * sizeof(T) - 1))); }
#define W_VECTOR_SHIFT(NAME) \
  template <class T, int N> W_FN constexpr w_vec<T, N> NAME(w_vec<T, N> a, w_vec<unsigned, N> n) { \
    w_vec<T, N> b{}; \
    W_EACH(N) b.e[i] = NAME(a.e[i], n.e[i]); \
    return b; \
  }
W_VECTOR_SHIFT(w_shl) W_VECTOR_SHIFT(w_shr)

#define W_COMPARISON(NAME, OP) \
  template <class T> W_FN constexpr bool NAME(T a, T b) { return a OP b; } \
  W_FN bool NAME(w_half a, w_half b) { return w_widen(a) OP w_widen(b); } \
  W_MIXED_OPERATOR(NAME) \
  W_VECTOR_OPERATOR(NAME, bool)
W_COMPARISON(w_eq, ==) W_COMPARISON(w_ne, !=) W_COMPARISON(w_lt, <)
W_COMPARISON(w_gt, >) W_COMPARISON(w_le, <=) W_COMPARISON(w_ge, >=)

template <class T> W_FN constexpr T w_select(T no, T yes, bool condition) { return condition ? yes : no; }
template <class A, class B> W_FN constexpr auto w_select(A no, B yes, bool condition) {
  using T = decltype(no + yes);
  return condition ? static_cast<T>(yes) : static_cast<T>(no);
}
template <class T, int N> W_FN constexpr w_vec<T, N> w_select(w_vec<T, N> no, w_vec<T, N> yes, w_vec<bool, N> condition) {
  w_vec<T, N> x{};
  W_EACH(N) x.e[i] = condition.e[i] ? yes.e[i] : no.e[i];
  return x;
}
W_FN constexpr bool w_all(bool x) { return x; }
W_FN constexpr bool w_any(bool x) { return x; }
template <int N> W_FN constexpr bool w_all(w_vec<bool, N> x) {
  bool all = true;
  W_EACH(N) all = all && x.e[i];
  return all;
}
template <int N> W_FN constexpr bool w_any(w_vec<bool, N> x) {
  bool any = false;
  W_EACH(N) any = any || x.e[i];
  return any;
}

// ---- Functions of numbers.
#define W_FUNCTION(NAME, VALUE) \
  W_FN float NAME(float x) { return VALUE; } \
  W_FN w_half NAME(w_half h) { const float x = w_widen(h); return w_narrow(VALUE); } \
  W_VECTOR_FUNCTION(NAME)
#define W_FUNCTION_OF_TWO(NAME, VALUE) \
  W_FN float NAME(float a, float b) { return VALUE; } \
  W_FN w_half NAME(w_half g, w_half h) { const float a = w_widen(g), b = w_widen(h); return w_narrow(VALUE); } \
  W_VECTOR_OPERATOR(NAME, T)
#define W_FUNCTION_OF_DOUBLE(NAME, VALUE) W_FN double NAME(double x) { return VALUE; }
W_FN constexpr long long w_abs(long long x) { return x < 0 ? w_neg(x) : x; }
W_FN constexpr unsigned long long w_abs(unsigned long long x) { return x; }
W_FN constexpr int w_abs(int x) { return x < 0 ? w_neg(x) : x; }
W_FN constexpr unsigned w_abs(unsigned x) { return x; }
W_FN constexpr int w_sign(int x) { return (x > 0) - (x < 0); }
// Before those of vectors, which take what is declared above them.
W_FUNCTION_OF_DOUBLE(w_abs, fabs(x))
W_FUNCTION_OF_DOUBLE(w_acos, acos(x))
W_FUNCTION_OF_DOUBLE(w_acosh, acosh(x))
W_FUNCTION_OF_DOUBLE(w_asin, asin(x))
W_FUNCTION_OF_DOUBLE(w_asinh, asinh(x))
W_FUNCTION_OF_DOUBLE(w_atan, atan(x))
W_FUNCTION_OF_DOUBLE(w_atanh, atanh(x))
W_FUNCTION_OF_DOUBLE(w_ceil, ceil(x))
W_FUNCTION_OF_DOUBLE(w_cos, cos(x))
W_FUNCTION_OF_DOUBLE(w_cosh, cosh(x))
W_FUNCTION_OF_DOUBLE(w_erf, erf(x))
W_FUNCTION_OF_DOUBLE(w_erfc, erfc(x))
W_FUNCTION_OF_DOUBLE(w_exp, exp(x))
W_FUNCTION_OF_DOUBLE(w_expm1, expm1(x))
W_FUNCTION_OF_DOUBLE(w_floor, floor(x))
W_FUNCTION_OF_DOUBLE(w_log, log(x))
W_FUNCTION_OF_DOUBLE(w_log1p, log1p(x))
W_FUNCTION_OF_DOUBLE(w_round, rint(x))
W_FUNCTION_OF_DOUBLE(w_sin, sin(x))
W_FUNCTION_OF_DOUBLE(w_sinh, sinh(x))
W_FUNCTION_OF_DOUBLE(w_sqrt, sqrt(x))
W_FUNCTION_OF_DOUBLE(w_tan, tan(x))
W_FUNCTION_OF_DOUBLE(w_tanh, tanh(x))
W_FUNCTION_OF_DOUBLE(w_trunc, trunc(x))
W_FN double w_max(double a, double b) { return fmax(a, b); }
W_FN double w_min(double a, double b) { return fmin(a, b); }
W_FN double w_atan2(double a, double b) { return atan2(a, b); }
W_FN double w_pow(double a, double b) { return pow(a, b); }
W_FN double w_copysign(double a, double b) { return copysign(a, b); }
W_FN double w_nextafter(double a, double b) { return nextafter(a, b); }
W_FN double w_fma(double a, double b, double c) { return fma(a, b, c); }
W_FUNCTION(w_abs, fabsf(x))
W_FUNCTION(w_acos, acosf(x))
W_FUNCTION(w_acosh, acoshf(x))
W_FUNCTION(w_asin, asinf(x))
W_FUNCTION(w_asinh, asinhf(x))
W_FUNCTION(w_atan, atanf(x))
W_FUNCTION(w_atanh, atanhf(x))
W_FUNCTION(w_ceil, ceilf(x))
W_FUNCTION(w_cos, cosf(x))
W_FUNCTION(w_cosh, coshf(x))
W_FUNCTION(w_degrees, x * 57.2957795f)
W_FUNCTION(w_exp, expf(x))
W_FUNCTION(w_exp2, exp2f(x))
W_FUNCTION(w_floor, floorf(x))
W_FUNCTION(w_fract, x - floorf(x))
W_FUNCTION(w_inverseSqrt, rsqrtf(x))
W_FUNCTION(w_log, logf(x))
W_FUNCTION(w_log2, log2f(x))
W_FUNCTION(w_radians, x * 0.0174532925f)
W_FUNCTION(w_round, rintf(x))
W_FUNCTION(w_saturate, fminf(fmaxf(x, 0.0f), 1.0f))
W_FUNCTION(w_sign, static_cast<float>((x > 0.0f) - (x < 0.0f)))
W_FUNCTION(w_sin, sinf(x))
W_FUNCTION(w_sinh, sinhf(x))
W_FUNCTION(w_sqrt, sqrtf(x))
W_FUNCTION(w_tan, tanf(x))
W_FUNCTION(w_tanh, tanhf(x))
W_FUNCTION(w_trunc, truncf(x))
template <class T> W_FN constexpr T w_max(T a, T b) { return a < b ? b : a; }
template <class T> W_FN constexpr T w_min(T a, T b) { return b < a ? b : a; }
W_MIXED_OPERATOR(w_max) W_MIXED_OPERATOR(w_min)
W_FUNCTION_OF_TWO(w_max, fmaxf(a, b))
W_FUNCTION_OF_TWO(w_min, fminf(a, b))
W_FUNCTION_OF_TWO(w_atan2, atan2f(a, b))
W_FUNCTION_OF_TWO(w_pow, powf(a, b))
W_FUNCTION_OF_TWO(w_step, b < a ? 0.0f : 1.0f)
W_MIXED_OPERATOR(w_pow)
template <class T, class L, class H> W_FN constexpr T w_clamp(T x, L low, H high) { return w_min(w_max(x, static_cast<T>(low)), static_cast<T>(high)); }

W_FN float w_fma(float a, float b, float c) { return fmaf(a, b, c); }
W_FN w_half w_fma(w_half a, w_half b, w_half c) { return w_narrow(fmaf(w_widen(a), w_widen(b), w_widen(c))); }
template <class T> W_FN T w_mix(T a, T b, w_id<T> t) { return w_add(w_mul(a, w_sub(w_to<T>(1), t)), w_mul(b, t)); }
template <class T> W_FN T w_smoothstep(T low, T high, T x) {
  const T t = w_saturate(w_div(w_sub(x, low), w_sub(high, low)));
  return w_mul(w_mul(t, t), w_sub(w_to<T>(3), w_mul(w_to<T>(2), t)));
}
#define W_VECTOR_FUNCTION_OF_THREE(NAME) \
  template <class T, int N> W_FN w_vec<T, N> NAME(w_vec<T, N> a, w_vec<T, N> b, w_vec<T, N> c) { \
    w_vec<T, N> d{}; \
    W_EACH(N) d.e[i] = NAME(a.e[i], b.e[i], c.e[i]); \
    return d; \
  }
W_VECTOR_FUNCTION_OF_THREE(w_fma) W_VECTOR_FUNCTION_OF_THREE(w_mix) W_VECTOR_FUNCTION_OF_THREE(w_smoothstep)
template <class T, int N> W_FN w_vec<T, N> w_mix(w_vec<T, N> a, w_vec<T, N> b, w_id<T> t) { return w_mix(a, b, w_vec<T, N>(t)); }
W_FN float w_ldexp(float x, int e) { return ldexpf(x, e); }
template <class T, int N> W_FN T w_dot(w_vec<T, N> a, w_vec<T, N> b) {
  T sum = w_mul(a.e[0], b.e[0]);
  W_UNROLL for (int i = 1; i < N; ++i) sum = w_add(sum, w_mul(a.e[i], b.e[i]));
  return sum;
}
template <class T, int N> W_FN T w_length(w_vec<T, N> x) { return w_sqrt(w_dot(x, x)); }
W_FN float w_length(float x) { return fabsf(x); }
template <class T> W_FN auto w_distance(T a, T b) { return w_length(w_sub(a, b)); }
template <class T, int N> W_FN w_vec<T, N> w_normalize(w_vec<T, N> x) { return w_div(x, w_length(x)); }
template <class T> W_FN w_vec<T, 3> w_cross(w_vec<T, 3> a, w_vec<T, 3> b) {
  return w_sub(w_mul(w_swizzle<1, 2, 0>(a), w_swizzle<2, 0, 1>(b)), w_mul(w_swizzle<2, 0, 1>(a), w_swizzle<1, 2, 0>(b)));
}

// ---- Functions of bits.
W_FN unsigned w_countOneBits(unsigned x) { return static_cast<unsigned>(__popc(x)); }
W_FN unsigned w_countLeadingZeros(unsigned x) { return static_cast<unsigned>(__clz(static_cast<int>(x))); }
W_FN unsigned w_reverseBits(unsigned x) { return __brev(x); }
W_FN unsigned w_firstTrailingBit(unsigned x) { return static_cast<unsigned>(__ffs(static_cast<int>(x)) - 1); }
W_FN unsigned w_firstLeadingBit(unsigned x) { return 31u - w_countLeadingZeros(x); }
W_FN unsigned w_countTrailingZeros(unsigned x) { return x == 0u ? 32u : w_firstTrailingBit(x); }
#define W_SIGNED_BITS(NAME) W_FN int NAME(int x) { return static_cast<int>(NAME(static_cast<unsigned>(x))); }
W_SIGNED_BITS(w_countOneBits) W_SIGNED_BITS(w_countLeadingZeros) W_SIGNED_BITS(w_reverseBits)
W_SIGNED_BITS(w_firstTrailingBit) W_SIGNED_BITS(w_countTrailingZeros)
W_FN int w_firstLeadingBit(int x) { return static_cast<int>(w_firstLeadingBit(static_cast<unsigned>(x < 0 ? ~x : x))); }
#define W_VECTOR_BITS(NAME) W_VECTOR_FUNCTION(NAME)
W_VECTOR_BITS(w_countOneBits) W_VECTOR_BITS(w_countLeadingZeros) W_VECTOR_BITS(w_reverseBits)
W_VECTOR_BITS(w_firstTrailingBit) W_VECTOR_BITS(w_countTrailingZeros) W_VECTOR_BITS(w_firstLeadingBit)
W_FN unsigned w_lowBits(unsigned count) { return count >= 32u ? 0xffffffffu : (1u << count) - 1u; }
W_FN unsigned w_extractBits(unsigned x, unsigned offset, unsigned count) {
  const unsigned o = w_min(offset, 32u), c = w_min(count, 32u - o);
  return o == 32u ? 0u : (x >> o) & w_lowBits(c);
}
W_FN int w_extractBits(int x, unsigned offset, unsigned count) {
  const unsigned o = w_min(offset, 32u), c = w_min(count, 32u - o);
  if (c == 0u) return 0;
  return static_cast<int>(static_cast<unsigned>(x) << (32u - c - o)) >> (32u - c);
}
W_FN unsigned w_insertBits(unsigned x, unsigned bits, unsigned offset, unsigned count) {
  const unsigned o = w_min(offset, 32u), c = w_min(count, 32u - o);
  const unsigned mask = o == 32u ? 0u : w_lowBits(c) << o;
  return (x & ~mask) | (o == 32u ? 0u : (bits << o) & mask);
}
W_FN int w_insertBits(int x, int bits, unsigned offset, unsigned count) {
  return static_cast<int>(w_insertBits(static_cast<unsigned>(x), static_cast<unsigned>(bits), offset, count));
}
W_FN unsigned w_pack2x16float(w_vec<float, 2> x) {
  return static_cast<unsigned>(w_narrow(x.e[0]).bits) | static_cast<unsigned>(w_narrow(x.e[1]).bits) << 16;
}
W_FN w_vec<float, 2> w_unpack2x16float(unsigned x) {
  return w_vec<float, 2>(w_widen(w_half{static_cast<unsigned short>(x & 0xffffu)}), w_widen(w_half{static_cast<unsigned short>(x >> 16)}));
}

// ---- Places, barriers, atomics.
W_FN unsigned w_local_index(unsigned x, unsigned y) { return threadIdx.x + x * (threadIdx.y + y * threadIdx.z); }
W_FN w_vec<unsigned, 3> w_global_place(unsigned x, unsigned y, unsigned z) {
  return w_vec<unsigned, 3>(blockIdx.x * x + threadIdx.x, blockIdx.y * y + threadIdx.y, blockIdx.z * z + threadIdx.z);
}
W_FN void w_workgroupBarrier() { __syncthreads(); }
W_FN void w_storageBarrier() { __syncthreads(); }
#define W_ATOMIC(NAME, FUNCTION) template <class T> W_FN T NAME(T* p, w_id<T> x) { return FUNCTION(p, x); }
W_ATOMIC(w_atomicAdd, atomicAdd)
W_ATOMIC(w_atomicAnd, atomicAnd)
W_ATOMIC(w_atomicExchange, atomicExch)
W_ATOMIC(w_atomicMax, atomicMax)
W_ATOMIC(w_atomicMin, atomicMin)
W_ATOMIC(w_atomicOr, atomicOr)
W_ATOMIC(w_atomicStore, atomicExch)
W_ATOMIC(w_atomicSub, atomicSub)
W_ATOMIC(w_atomicXor, atomicXor)
template <class T> W_FN T w_atomicLoad(T* p) { return atomicOr(p, static_cast<T>(0)); }
template <class T> W_FN T w_atomicCompareExchangeWeak(T* p, w_id<T> old, w_id<T> value) { return atomicCAS(p, old, value); }

// ---- Subgroups are warps; the last one of a workgroup may be in part.
W_FN unsigned w_thread() { return w_local_index(blockDim.x, blockDim.y); }
W_FN unsigned w_lane() { return w_thread() & 31u; }
W_FN unsigned w_lanes() { return w_min(blockDim.x * blockDim.y * blockDim.z - (w_thread() & ~31u), 32u); }
W_FN unsigned w_warp() { return w_lowBits(w_lanes()); }
template <class T> W_FN unsigned w_word(T x) { return w_bitcast<unsigned>(x); }
W_FN unsigned w_word(w_half x) { return x.bits; }
W_FN unsigned w_word(w_bf16 x) { return x.bits; }
W_FN unsigned w_word(bool x) { return x; }
W_FN w_half w_of_word(unsigned word, w_type<w_half>) { return {static_cast<unsigned short>(word)}; }
W_FN w_bf16 w_of_word(unsigned word, w_type<w_bf16>) { return {static_cast<unsigned short>(word)}; }
W_FN bool w_of_word(unsigned word, w_type<bool>) { return word != 0u; }
template <class T> W_FN T w_of_word(unsigned word, w_type<T>) { return w_bitcast<T>(word); }
#define W_SHUFFLE(NAME, FUNCTION) \
  template <class T> W_FN T NAME(T x, unsigned n) { \
    if constexpr (sizeof(T) == 8) { \
      return w_bitcast<T>(NAME(w_bitcast<w_vec<unsigned, 2>>(x), n)); \
    } else { \
      return w_of_word(FUNCTION(w_warp(), w_word(x), n), w_type<T>{}); \
    } \
  } \
  template <class T, int N> W_FN w_vec<T, N> NAME(w_vec<T, N> x, unsigned n) { \
    w_vec<T, N> y{}; \
    W_EACH(N) y.e[i] = NAME(x.e[i], n); \
    return y; \
  }
W_SHUFFLE(w_subgroupShuffle, __shfl_sync)
W_SHUFFLE(w_subgroupShuffleDown, __shfl_down_sync)
W_SHUFFLE(w_subgroupShuffleUp, __shfl_up_sync)
W_SHUFFLE(w_subgroupShuffleXor, __shfl_xor_sync)
template <class T> W_FN T w_subgroupBroadcast(T x, unsigned lane) { return w_subgroupShuffle(x, lane); }
template <class T> W_FN T w_subgroupBroadcastFirst(T x) { return w_subgroupShuffle(x, 0u); }
#define W_REDUCTION(NAME, JOIN) \
  template <class T> W_FN T NAME(T x) { \
    W_UNROLL for (unsigned step = 16u; step > 0u; step /= 2u) { \
      const T other = w_subgroupShuffleDown(x, step); \
      if (w_lane() + step < w_lanes()) x = JOIN(x, other); \
    } \
    return w_subgroupBroadcastFirst(x); \
  }
W_REDUCTION(w_subgroupAdd, w_add)
W_REDUCTION(w_subgroupMul, w_mul)
W_REDUCTION(w_subgroupMax, w_max)
W_REDUCTION(w_subgroupMin, w_min)
W_REDUCTION(w_subgroupAnd, w_and)
W_REDUCTION(w_subgroupOr, w_or)
W_REDUCTION(w_subgroupXor, w_xor)
template <class T> W_FN T w_subgroupInclusiveAdd(T x) {
  W_UNROLL for (unsigned step = 1u; step < 32u; step *= 2u) {
    const T other = w_subgroupShuffleUp(x, step);
    if (w_lane() >= step) x = w_add(x, other);
  }
  return x;
}
template <class T> W_FN T w_subgroupExclusiveAdd(T x) {
  const T before = w_subgroupShuffleUp(w_subgroupInclusiveAdd(x), 1u);
  return w_lane() == 0u ? T(w_to<T>(0)) : before;
}
W_FN bool w_subgroupAll(bool x) { return __all_sync(w_warp(), x) != 0; }
W_FN bool w_subgroupAny(bool x) { return __any_sync(w_warp(), x) != 0; }
W_FN bool w_subgroupElect() { return w_lane() == 0u; }
)cuda";

}  // namespace tandem::cuda
