#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Installs a build, moves the tree, looks at what is in it, and builds and runs a stranger's project over it: with
# find_package, and with nothing but the compiler and pkg-config.
# usage: run_installed.sh BUILD_DIR SCRATCH_DIR    CC, CXX, CMAKE and CMAKE_CXX_COMPILER_LAUNCHER come by the environment

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
build=$1
scratch=$2
cmake=${CMAKE:-cmake}
cxx=${CXX:-c++}
cc=${CC:-cc}
first=$scratch/first
tree=$scratch/elsewhere/tandem

rm -rf "$scratch"
mkdir -p "$scratch/elsewhere"
source "$here/steps.sh"

# Component runtime alone: what a program needs that is there already.
step "install component runtime" "$cmake" --install "$build" --prefix "$scratch/runtime" --component runtime
unexpected=$(cd "$scratch/runtime" && find . ! -type d | grep -vE '^\./(lib[^ ]*/libtandem\.so\.[0-9.]+|share/doc/tandem/LICENSE)$' || true)
[[ -z $unexpected ]] || fail "component runtime has $unexpected"

if command -v doxygen >/dev/null; then
  step "make the C++ reference" "$cmake" --build "$build" --target tandem_reference
fi
step "install" "$cmake" --install "$build" --prefix "$first"
mv "$first" "$tree"
lib=$(dirname "$(find "$tree" -name libtandem.a)")
for file in include/tandem.h include/tandem_plugin.h include/tandem/{ops,version,kernel_op_handler,load_op_library}.h include/tandem/cpu/cpu_op_handler.h \
  share/doc/tandem/{LICENSE,README.md,CONTRACT.md}; do
  [[ -s $tree/$file ]] || fail "$file is missing"
done
if command -v doxygen >/dev/null; then
  [[ -s $tree/share/doc/tandem/reference/index.html ]] || fail "the C++ reference is missing"
fi

# No path of this machine is in any file, run-time search paths included.
if grep -rlF -e "$source_dir" -e "$build" -e "$scratch" "$tree"; then
  fail "these have absolute paths of the source, build or install tree in them"
fi

# Its version as the names of libraries have it: with the minor one while the major one is 0.
version=$(sed -n 's/^#define TANDEM_VERSION_STRING "\(.*\)"/\1/p' "$tree/include/tandem/version.h")
so_version=$(cut -d. -f1-2 <<<"$version")
[[ $so_version == 0.* ]] || so_version=${so_version%.*}

# What the library exports is of namespace tandem or of the C interface, and nothing of the kernels, Highway or Eigen.
exported=$(nm -DC --defined-only "$lib/libtandem.so" | cut -d' ' -f3-)
[[ $(wc -l <<<"$exported") -gt 100 ]] || fail "too little is exported: $exported"
foreign=$(grep -vE '^((vtable|typeinfo|typeinfo name) for |non-virtual thunk to )?tandem::|^tandem_[a-z_]+$' <<<"$exported" || true)
[[ -z $foreign ]] || fail "exported without being of namespace tandem: $foreign"
c_functions=$(sed -nE 's/^TANDEM_C_API .*[ *](tandem_[a-z_]+)\(.*/\1/p' "$tree/include/tandem.h" | sort)
[[ $c_functions == "$(grep '^tandem_' <<<"$exported" | sort)" ]] || fail "tandem.h does not declare what is exported of C"
internal=$(grep -E 'tandem::(cpu|c)::|tandem::(KernelOp|PendingOps|DeadlineWatcher)::|hwy|Eigen' <<<"$exported" || true)
[[ -z $internal ]] || fail "exported though internal: $internal"

# Every class with virtual functions has type information, which users' casts and sanitizers read; hidden ones too, since
# what a function gives may be of one.
typeless=$(comm -23 <(nm -C --defined-only "$lib/libtandem.a" | sed -nE 's/^[0-9a-f]+ . vtable for //p' | sort -u) \
  <(nm -C --defined-only "$lib/libtandem.a" | sed -nE 's/^[0-9a-f]+ . typeinfo for //p' | sort -u))
[[ -z $typeless ]] || fail "classes without type information: $typeless"

# What a public header declares and a source defines is exported.
defined=$(nm -C --defined-only "$lib/libtandem.a" | sed -nE 's/^[0-9a-f]+ T (tandem::.*)/\1/p' | sort -u)
while IFS= read -r name; do
  own=${name#tandem::}
  namespace=tandem
  for inner in eager gpu; do
    if [[ $own == $inner::* ]]; then
      own=${own#"$inner"::}
      namespace=tandem::$inner
    fi
  done
  if [[ $own == *::* ]]; then
    declaration="^(class|struct) ([^:;]* )?${own%%::*}( final)?( :[^:].*)? \{"
  else
    declaration="^[A-Za-z][^/=]* \*?$own\("
  fi
  if grep -rlE "^namespace $namespace(::internal)? \{" "$tree/include" | xargs grep -qE "$declaration"; then
    fail "$name is in a public header, but not exported: TANDEM_EXPORT is missing"
  fi
done < <(comm -23 <(cut -d'(' -f1 <<<"$defined" | sort -u) <(cut -d'(' -f1 <<<"$exported" | sort -u) |
  grep -vE '^tandem::(cpu|internal|\(anonymous)' || true)

# Another minor version is refused while the major version is 0.
mkdir "$scratch/newer"
printf 'cmake_minimum_required(VERSION 3.20)\nproject(Newer LANGUAGES NONE)\nfind_package(Tandem 0.99 CONFIG)\n%s\n' \
  'message(STATUS "found: ${Tandem_FOUND}")' >"$scratch/newer/CMakeLists.txt"
step "ask for a newer version" "$cmake" -S "$scratch/newer" -B "$scratch/newer/build" -DCMAKE_PREFIX_PATH="$tree"
grep -q 'found: 0' "$log" || fail "find_package takes an older version than it was asked for"

# find_package, with the default flags and the program's own.
step "configure over the installed tree" "$cmake" -S "$here/installed" -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$tree" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER="$cxx"
step "build over the installed tree" "$cmake" --build "$scratch/cmake" -j "${TANDEM_JOBS:-2}"
for variant in tandem tandem_static; do
  step "run smooth_$variant" "$scratch/cmake/smooth_$variant"
  grep -qx 'smooth: ok' "$log" || fail "smooth_$variant did not get to its end"
done

# A device in a module that a stranger has built, which serves programs with the shared library alone.
step "load a module of a stranger's" "$scratch/cmake/modules_tandem" "$scratch/cmake/libnull_module.so"
step "refuse the static library" "$scratch/cmake/modules_tandem_static" "$scratch/cmake/libnull_module.so" refused

# A compiler that is too old hears so. What none is, is claimed by macros.
refuse() {  # ERROR FLAGS...
  local error=$1
  shift
  if "$cxx" -E -w "$@" "$tree/include/tandem/export.h" >"$log" 2>&1; then fail "the headers take $*"; fi
  grep -q "error: .*$error" "$log" || fail "the headers do not say: $error"
}
refuse 'Tandem needs GCC 12 or later' -std=c++20 -U__clang__ -U__GNUC__ -D__GNUC__=11
refuse 'Tandem needs Clang 16 or later' -std=c++20 -U__clang__ -D__clang__=1 -U__clang_major__ -D__clang_major__=15
refuse 'Tandem needs C++20: compile with -std=c++20' -std=c++17

# The Vulkan module, where it is built: it is installed, exports nothing of glslang, and loads from where the tree is now.
# Without it, asking for it is an error that says so.
module=$lib/libtandem_vulkan.so.$so_version
if compgen -G "$build/native/libtandem_vulkan.so*" >/dev/null; then
  [[ -e $module ]] || fail "$module is missing"
  foreign=$(nm -DC --defined-only "$module" | cut -d' ' -f3- |
    grep -vE '^((vtable|typeinfo|typeinfo name) for )?tandem::|^tandem_op_handler_module$' || true)
  [[ -z $foreign ]] || fail "the Vulkan module exports $foreign"
  step "load the Vulkan module" "$scratch/cmake/vulkan"
  grep -qE '^vulkan: (ok|not run: expected (a|the) Vulkan .*)$' "$log" || fail "the Vulkan module did not load"
  step "choose the Vulkan device from C" "$scratch/cmake/gpu"
  grep -qE '^gpu: (ok|not run: expected (a|the) Vulkan .*)$' "$log" || fail "the Vulkan module did not load from C"
  tail -n 1 "$log"
  mv "$module" "$scratch/"
fi
step "ask for the Vulkan module where it is not" "$scratch/cmake/vulkan"
grep -qF "vulkan: not run: expected the module $module: " "$log" || fail "a missing module was not named"
step "the same from C" "$scratch/cmake/gpu"
grep -qF "gpu: not run: expected the module $module: " "$log" || fail "a missing module was not named"

# The CUDA module in the same way. Where there is no driver, it says so.
module=$lib/libtandem_cuda.so.$so_version
if compgen -G "$build/native/libtandem_cuda.so*" >/dev/null; then
  [[ -e $module ]] || fail "$module is missing"
  linked=$(readelf -d "$module" | grep NEEDED | grep -E 'cuda|nvrtc|cublas|cudnn' || true)
  [[ -z $linked ]] || fail "the CUDA module cannot be loaded without $linked"
  step "load the CUDA module" "$scratch/cmake/cuda"
  grep -qE '^cuda: (ok|not run: expected (a|CUDA|an) .*)$' "$log" || fail "the CUDA module did not load"
  tail -n 1 "$log"
  mv "$module" "$scratch/"
fi
step "ask for the CUDA module where it is not" "$scratch/cmake/cuda"
grep -qF "cuda: not run: expected the module $module: " "$log" || fail "a missing module was not named"

# The tool, where it is built, finds the library from where both are now.
if [[ -e $build/native/tool/tandem ]]; then
  step "run the tool" "$tree/bin/tandem" ops tf.MatMul
  grep -qE '^cpu +.*f32' "$log" || fail "the tool did not tell of kernels"
fi

step "libraries of smooth_tandem" readelf -d "$scratch/cmake/smooth_tandem"
grep -qF "[libtandem.so.$so_version]" "$log" || fail "not linked by its soname"
step "libraries of smooth_tandem_static" readelf -d "$scratch/cmake/smooth_tandem_static"
if grep -q 'NEEDED.*tandem' "$log"; then
  fail "the static variant needs the shared library"
fi

# pkg-config: the compiler alone, shared and static.
if ! command -v pkg-config >/dev/null; then
  fail "pkg-config was not found; run tools/setup.sh"
fi
export PKG_CONFIG_PATH=$lib/pkgconfig
step "version of tandem.pc" pkg-config --exact-version "$version" tandem
read -ra cflags < <(pkg-config --cflags tandem)
read -ra libs < <(pkg-config --libs tandem)
read -ra static_libs < <(pkg-config --static --libs tandem)
read -ra launcher <<<"${CMAKE_CXX_COMPILER_LAUNCHER:-}"
for name in smooth devices casts; do
  step "compile $name.cc" "${launcher[@]}" "$cxx" -std=c++20 -fvisibility=hidden "${cflags[@]}" \
    -c "$here/installed/$name.cc" -o "$scratch/$name.o"
done
step "link smooth_shared" "$cxx" "$scratch"/{smooth,devices,casts}.o "${libs[@]}" -o "$scratch/smooth_shared"
LD_LIBRARY_PATH=$lib step "run smooth_shared" "$scratch/smooth_shared"
step "link smooth_static" "$cxx" "$scratch"/{smooth,devices,casts}.o "${static_libs[@]/-ltandem/-l:libtandem.a}" \
  -o "$scratch/smooth_static"
step "run smooth_static" "$scratch/smooth_static"

# The same from C: the shared library alone, and the static one with the C++ library it needs.
step "compile calls.c" "$cc" -std=c99 -Wall -Wextra -pedantic -Werror "${cflags[@]}" \
  -c "$here/installed/calls.c" -o "$scratch/calls.o"
step "link calls_shared" "$cc" "$scratch/calls.o" "${libs[@]}" -o "$scratch/calls_shared"
step "link calls_static" "$cc" "$scratch/calls.o" "${static_libs[@]/-ltandem/-l:libtandem.a}" -lstdc++ -lm \
  -o "$scratch/calls_static"
for variant in shared static; do
  LD_LIBRARY_PATH=$lib step "run calls_$variant" "$scratch/calls_$variant"
  grep -q '^calls: ok' "$log" || fail "calls_$variant did not get to its end"
  grep -qE '^expected: InvalidArgument: \[tf\.MatMul\] .*calls\.c:[0-9]+\)$' "$log" ||
    fail "calls_$variant did not show its error"
done

# An op library in C, which links nothing, serves programs with either library.
step "compile and link plugin.c" "$cc" -std=c99 -Wall -Wextra -pedantic -Werror -fPIC -shared -fvisibility=hidden \
  -I "$tree/include" "$here/installed/plugin.c" -o "$scratch/plugin.so" -Wl,-z,defs
step "compile load_plugin.c" "$cc" -std=c99 -Wall -Wextra -pedantic -Werror "${cflags[@]}" \
  -c "$here/installed/load_plugin.c" -o "$scratch/load_plugin.o"
step "link load_plugin_shared" "$cc" "$scratch/load_plugin.o" "${libs[@]}" -o "$scratch/load_plugin_shared"
step "link load_plugin_static" "$cc" "$scratch/load_plugin.o" "${static_libs[@]/-ltandem/-l:libtandem.a}" -lstdc++ \
  -lm -o "$scratch/load_plugin_static"
for variant in shared static; do
  LD_LIBRARY_PATH=$lib step "run load_plugin_$variant" "$scratch/load_plugin_$variant" "$scratch/plugin.so"
  grep -qx 'scaled: f32\[3\] = \[2.5, 5, -7.5\]' "$log" || fail "load_plugin_$variant did not call the op"
  grep -qx 'expected: \[mine.Scale\] op mine.Scale is not defined' "$log" ||
    fail "load_plugin_$variant did not unload the op"
done

# README's program and the one above, with what watches for undefined behaviour in them, casts and calls of objects of
# the wrong type included.
awk '/^```cpp$/ { on = 1; next } /^```$/ && on { exit } on' "$tree/share/doc/tandem/README.md" >"$scratch/readme.cc"
sanitized=(-fsanitize=undefined -fno-sanitize-recover=undefined)
for name in readme smooth devices casts; do
  source=$here/installed/$name.cc
  [[ $name != readme ]] || source=$scratch/readme.cc
  step "compile $name.cc with UBSan" "${launcher[@]}" "$cxx" -std=c++20 "${sanitized[@]}" "${cflags[@]}" -c "$source" \
    -o "$scratch/$name.ubsan.o"
done
read_readme() {  # PROGRAM
  grep -qx 'f32\[2,2\] = \[6, 12, 12, 26\]' "$log" || fail "$1 did not print the product"
  grep -qE '^InvalidArgument: \[tf\.MatMul\] .*readme\.cc:[0-9]+:[0-9]+\)' "$log" || fail "$1 did not show its error"
}
for variant in shared static; do
  link=("${libs[@]}")
  [[ $variant == shared ]] || link=("${static_libs[@]/-ltandem/-l:libtandem.a}")
  step "link readme_ubsan_$variant" "$cxx" "${sanitized[@]}" "$scratch/readme.ubsan.o" "${link[@]}" \
    -o "$scratch/readme_ubsan_$variant"
  LD_LIBRARY_PATH=$lib step "run readme_ubsan_$variant" "$scratch/readme_ubsan_$variant"
  if grep -q 'runtime error' "$log"; then fail "UBSan reports readme_ubsan_$variant"; fi
  read_readme "readme_ubsan_$variant"
  step "link smooth_ubsan_$variant" "$cxx" "${sanitized[@]}" "$scratch"/{smooth,devices,casts}.ubsan.o "${link[@]}" \
    -o "$scratch/smooth_ubsan_$variant"
  LD_LIBRARY_PATH=$lib step "run smooth_ubsan_$variant" "$scratch/smooth_ubsan_$variant"
  if grep -q 'runtime error' "$log"; then fail "UBSan reports smooth_ubsan_$variant"; fi
done

# The same programs by Clang, where one is installed that is new enough.
clang=
for candidate in clang++ clang++-{19,18,17,16}; do
  major=$("$candidate" -dumpversion 2>/dev/null | cut -d. -f1 || true)
  if [[ -z $clang && $major =~ ^[0-9]+$ ]] && ((major >= 16)); then clang=$candidate; fi
done
if [[ -z $clang ]]; then
  echo "$test_name: Clang: not run: expected clang++ 16 or later, got none"
  exit 0
fi
clang_flags=(-std=c++20 -Wall -Wextra -Werror "${cflags[@]}")
step "compile readme.cc with $clang" "$clang" "${clang_flags[@]}" "$scratch/readme.cc" "${libs[@]}" \
  -o "$scratch/readme_clang"
LD_LIBRARY_PATH=$lib step "run readme_clang" "$scratch/readme_clang"
read_readme readme_clang
step "compile smooth with $clang" "$clang" "${clang_flags[@]}" "$here"/installed/{smooth,devices,casts}.cc "${libs[@]}" \
  -o "$scratch/smooth_clang"
LD_LIBRARY_PATH=$lib step "run smooth_clang" "$scratch/smooth_clang"
