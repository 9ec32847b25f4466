// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What CUDA has built in, for kernels compiled for the host: stands in front of kCudaPrelude. Of C++ it includes
// nothing, since many texts are compiled with it.

#ifndef TANDEM_TESTS_CUDA_EMULATED_CUDA_H_
#define TANDEM_TESTS_CUDA_EMULATED_CUDA_H_

#include <math.h>
#include <string.h>

#include "emulation.h"

static tandem::cuda::Emulation* w_emulation;
extern "C" void w_set_emulation(tandem::cuda::Emulation* emulation) { w_emulation = emulation; }

#define threadIdx (w_emulation->thread_index)
#define blockIdx (w_emulation->block_index)
#define blockDim (w_emulation->block_size)
#define gridDim (w_emulation->grid_size)

#define __global__
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(n)
#define W_FN inline
#define W_UNROLL
#define W_CHECK_INDEX(i, n) ((i) < static_cast<unsigned>(n) ? void() : w_emulation->wrong_index((i), (n)))

// In one warp after another, and in one thread after another, what is atomic needs nothing.
template <class T>
T w_exchanged(T* place, T value) {
  const T old = *place;
  *place = value;
  return old;
}
template <class T>
T atomicAdd(T* p, T x) {
  return w_exchanged(p, static_cast<T>(static_cast<unsigned>(*p) + static_cast<unsigned>(x)));
}
template <class T>
T atomicSub(T* p, T x) {
  return w_exchanged(p, static_cast<T>(static_cast<unsigned>(*p) - static_cast<unsigned>(x)));
}
template <class T>
T atomicAnd(T* p, T x) {
  return w_exchanged(p, *p & x);
}
template <class T>
T atomicOr(T* p, T x) {
  return w_exchanged(p, *p | x);
}
template <class T>
T atomicXor(T* p, T x) {
  return w_exchanged(p, *p ^ x);
}
template <class T>
T atomicMax(T* p, T x) {
  return w_exchanged(p, *p < x ? x : *p);
}
template <class T>
T atomicMin(T* p, T x) {
  return w_exchanged(p, x < *p ? x : *p);
}
template <class T>
T atomicExch(T* p, T x) {
  return w_exchanged(p, x);
}
template <class T>
T atomicCAS(T* p, T old, T x) {
  return w_exchanged(p, *p == old ? x : *p);
}

// By line alone would do for one text, but kernels of one library have lines of the same number.
#define __syncthreads() w_emulation->barrier(__FILE__, __LINE__)

// A lane gets its own word where CUDA says so, and one that stands out where CUDA says nothing.
inline unsigned w_shuffled(unsigned mask, unsigned word, unsigned lane, unsigned from) {
  const unsigned* const words = w_emulation->exchange(word);
  if (from > 31u) return words[lane];
  return (mask >> from & 1u) != 0u ? words[from] : 0xdeadbeefu;
}
inline unsigned w_own_lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u; }
inline unsigned __shfl_sync(unsigned mask, unsigned word, unsigned lane) {
  return w_shuffled(mask, word, w_own_lane(), lane & 31u);
}
inline unsigned __shfl_down_sync(unsigned mask, unsigned word, unsigned step) {
  return w_shuffled(mask, word, w_own_lane(), w_own_lane() + step);
}
inline unsigned __shfl_up_sync(unsigned mask, unsigned word, unsigned step) {
  return w_shuffled(mask, word, w_own_lane(), step > w_own_lane() ? 32u : w_own_lane() - step);
}
inline unsigned __shfl_xor_sync(unsigned mask, unsigned word, unsigned bits) {
  return w_shuffled(mask, word, w_own_lane(), w_own_lane() ^ bits);
}
inline unsigned w_ballot(unsigned mask, bool x) {
  const unsigned* const words = w_emulation->exchange(x);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32u; ++lane) {
    if ((mask >> lane & 1u) != 0u && words[lane] != 0u) bits |= 1u << lane;
  }
  return bits;
}
inline int __all_sync(unsigned mask, bool x) { return w_ballot(mask, x) == mask; }
inline int __any_sync(unsigned mask, bool x) { return w_ballot(mask, x) != 0u; }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1u) << (31 - i);
  return y;
}
inline int __float2int_rz(float x) {
  if (x != x) return 0;
  if (x >= 2147483648.0f) return 2147483647;
  return x < -2147483648.0f ? -2147483647 - 1 : static_cast<int>(x);
}
inline unsigned __float2uint_rz(float x) {
  if (x >= 4294967296.0f) return 4294967295u;
  return x > 0.0f ? static_cast<unsigned>(x) : 0u;
}
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }

// As cvt.f32.f16 and cvt.rn.f16.f32 convert.
inline float w_float_of_half(unsigned short half) {
  const unsigned sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 0x3ffu;
  float value = ldexpf(static_cast<float>(fraction | 0x400u), static_cast<int>(exponent) - 25);
  if (exponent == 0u) value = ldexpf(static_cast<float>(fraction), -24);
  if (exponent == 31u) value = fraction == 0u ? INFINITY : NAN;
  return sign != 0u ? -value : value;
}
inline unsigned short w_half_of_float(float x) {
  unsigned bits;
  memcpy(&bits, &x, sizeof(bits));
  const unsigned sign = bits >> 16 & 0x8000u;
  const float size = fabsf(x);
  if (x != x) return 0x7fffu;
  if (size >= 65520.0f) return static_cast<unsigned short>(sign | 0x7c00u);
  if (size < 6.103515625e-05f)
    return static_cast<unsigned short>(sign | static_cast<unsigned>(rintf(ldexpf(size, 24))));
  bits &= 0x7fffffffu;
  bits += 0xfffu + (bits >> 13 & 1u);  // to nearest, ties to even
  return static_cast<unsigned short>(sign | ((bits >> 13) - (112u << 10)));
}

// A kernel's arguments, one after the other.
template <class T>
T& w_argument(void* const*& next) {
  return *static_cast<T*>(*next++);
}
template <class... A>
inline void w_call(void (*kernel)(A...), void* const* arguments) {
  // Braces, since they are evaluated in order.
  struct Call {
    void (*kernel)(A...);
    Call(void (*function)(A...), A... values) : kernel(function) { kernel(values...); }
  };
  Call{kernel, w_argument<A>(arguments)...};
}

// Gives how many arguments a kernel has, and their sizes in bytes, if they are asked for.
template <class... A>
inline unsigned w_sizes(void (*)(A...), unsigned* sizes) {
  const unsigned all[] = {sizeof(A)...};
  if (sizes != nullptr) memcpy(sizes, all, sizeof(all));
  return sizeof...(A);
}

#endif  // TANDEM_TESTS_CUDA_EMULATED_CUDA_H_
