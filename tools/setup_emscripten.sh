#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Provides the compiler of the presets wasm and wasm-threads: an Emscripten on PATH (emsdk 3.1.50 or later) if there is
# one, else Emscripten 3.1.69 from Debian packages, unpacked into a folder. Installs nothing and needs no root.
# usage: tools/setup_emscripten.sh [--check]    --check only says what there is, and fails if there is nothing
#   TANDEM_EMSCRIPTEN_DIR=DIR    where to unpack, by default build/emscripten

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Emscripten and Binaryen, and the C and C++ libraries that this Binaryen needs, are of Debian 13; Clang 19 is of the
# release of this machine, as are the libraries it needs.
readonly version=3.1.69 release=trixie
readonly next_release_packages=(emscripten binaryen libc6 libstdc++6 libgcc-s1)
readonly packages=(clang-19 libclang-cpp19 libllvm19 libclang-common-19-dev lld-19 llvm-19 libz3-4 libpfm4 libedit2
                   libbsd0 libmd0 libxml2 libicu72 node-acorn)

check_only=false
case "${1:-}" in
  "") ;;
  --check) check_only=true ;;
  *)
    echo "usage: tools/setup_emscripten.sh [--check]" >&2
    exit 2
    ;;
esac

if command -v emcc >/dev/null; then
  found=$(emcc -dumpversion)
  if printf '3.1.50\n%s\n' "$found" | sort -V -C; then
    echo "setup_emscripten: emcc $found on PATH"
    exit 0
  fi
  echo "setup_emscripten: emcc $found on PATH is older than 3.1.50; it will not be used" >&2
fi

dir=${TANDEM_EMSCRIPTEN_DIR:-build/emscripten}
if [[ -f "$dir/complete" && "$(<"$dir/complete")" == "$version" ]]; then
  echo "setup_emscripten: Emscripten $version in $dir"
  exit 0
fi
if $check_only; then
  echo "setup_emscripten: no Emscripten; run tools/setup_emscripten.sh, or put emsdk 3.1.50 or later on PATH" >&2
  exit 1
fi

fail() {
  echo "setup_emscripten: $1" >&2
  exit 1
}
for tool in apt-get dpkg-deb node python3; do
  command -v "$tool" >/dev/null || fail "$tool was not found; install it, or put emsdk 3.1.50 or later on PATH"
done
[[ "$(dpkg --print-architecture)" == amd64 ]] || fail "only amd64 machines; put emsdk 3.1.50 or later on PATH"

rm -rf "$dir"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

source tools/private_apt.sh
private_apt_start "$dir/apt" "$release" || fail "$private_apt_error; put emsdk 3.1.50 or later on PATH"
apt=$dir/apt
mkdir -p "$apt/packages"
echo "setup_emscripten: ${packages[*]} ${next_release_packages[*]/%//$release}"
(cd "$apt/packages" && private_apt download "${packages[@]/%//$private_apt_codename}") || fail "a package could not be downloaded"
mkdir "$apt/next"
(cd "$apt/next" && private_apt download "${next_release_packages[@]/%//$release}") ||
  fail "a package of $release could not be downloaded"

for package in "$apt"/packages/*.deb; do dpkg-deb --extract "$package" "$dir/llvm"; done
for package in "$apt"/next/*.deb; do dpkg-deb --extract "$package" "$dir/next"; done
rm -rf "$apt"
mv "$dir/next/usr/share/emscripten" "$dir/emscripten"

# Binaryen's programs were linked against newer libraries than this machine's, which lie beside them.
mkdir -p "$dir/binaryen/bin"
loader=$(find "$dir/next" -name 'ld-linux-x86-64.so.2' -not -type d | head -n 1)
libraries=$(find "$dir/next" -type d -path '*x86_64-linux-gnu' | paste -s -d :)
for program in "$dir"/next/usr/bin/wasm*; do
  name=$(basename "$program")
  printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$libraries" "$program" \
    >"$dir/binaryen/bin/$name"
  chmod +x "$dir/binaryen/bin/$name"
done

# Clang finds its own libraries from where it is; those of other packages it is told.
mkdir -p "$dir/llvm/bin"
for name in clang clang++ wasm-ld llvm-ar llvm-cxxfilt llvm-dwarfdump llvm-dwp llvm-nm llvm-objcopy llvm-objdump \
  llvm-ranlib llvm-size llvm-strip; do
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$dir/llvm/usr/lib/x86_64-linux-gnu" \
    "$dir/llvm/usr/lib/llvm-19/bin/$name" >"$dir/llvm/bin/$name"
  chmod +x "$dir/llvm/bin/$name"
  ln -s "$name" "$dir/llvm/bin/$name-19"
done

# Its JavaScript optimiser imports acorn, which an ES module looks for beside itself.
rm -rf "$dir/emscripten/node_modules"
mkdir -p "$dir/emscripten/node_modules"
ln -s "$dir/llvm/usr/share/nodejs/acorn" "$dir/emscripten/node_modules/acorn"

cat >"$dir/emscripten/.emscripten" <<CONFIG
LLVM_ROOT = '$dir/llvm/bin'
BINARYEN_ROOT = '$dir/binaryen'
NODE_JS = '$(command -v node)'
LLVM_ADD_VERSION = '19'
CLANG_ADD_VERSION = '19'
FROZEN_CACHE = True
CONFIG

"$dir/emscripten/emcc" --version >/dev/null || fail "the unpacked emcc does not start"
echo "$version" >"$dir/complete"
echo "setup_emscripten: Emscripten $version in $dir"
