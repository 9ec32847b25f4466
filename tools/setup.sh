#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Installs the Debian packages that Tandem is built and tested with, as far as they are missing. Nothing else is
# changed.
# usage: tools/setup.sh [--check] [--clang] [--aarch64] [--node] [--web] [--peers]
#   --check       only says what is missing, and fails if anything is
#   --clang       also installs Clang, which Tandem is built with beside g++
#   --aarch64     also installs a cross compiler and an emulator of 64-bit Arm
#   --node        also checks that Node is there, and new enough to build the npm package
#   --web         the same, and installs what that package is tested with
#   --peers       also installs the libraries that Tandem is measured against, and what draws the figures

set -euo pipefail

packages=(
  g++ g++-12-multilib            # the compiler, and its 32-bit libraries (g++-multilib excludes cross compilers)
  cmake ninja-build ccache       # the build
  libeigen3-dev libhwy-dev       # CPU kernels
  libgtest-dev googletest        # unit tests; the sources are for builds for other targets
  libbenchmark-dev               # tests/bench
  nlohmann-json3-dev             # JSON
  libcli11-dev zlib1g-dev        # examples, tests/conformance
  libpng-dev                     # examples/image
  libopenmpi-dev openmpi-bin     # collective ops of several processes
  libvulkan-dev glslang-dev glslang-tools  # the Vulkan op handler; CMake files of glslang want its programs, too
  mesa-vulkan-drivers vulkan-validationlayers  # its tests: a device that is the CPU, and who watches its use
  clang-format git python3       # checks and reports
  doxygen pkg-config make        # the reference of the headers, tests/package
  python3-numpy                  # the reference of tests/conformance
)

readonly clang_packages=(clang-19)
readonly aarch64_packages=(g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
readonly web_packages=(chromium)  # the tests of web/ in a browser
readonly peer_packages=(libtorch-dev libopenblas0-pthread libdnnl-dev python3-matplotlib)
readonly node_wanted=20.19

check_only=false
wants_clang=false
wants_aarch64=false
wants_node=false
wants_web=false
wants_peers=false
for option in "$@"; do
  case "$option" in
    --check) check_only=true ;;
    --clang) wants_clang=true ;;
    --aarch64) wants_aarch64=true ;;
    --node) wants_node=true ;;
    --web) wants_node=true wants_web=true ;;
    --peers) wants_peers=true ;;
    *)
      echo "usage: tools/setup.sh [--check] [--clang] [--aarch64] [--node] [--web] [--peers]" >&2
      exit 2
      ;;
  esac
done

# Debian's own Node is too old to build the package, and where another comes from is for the user to say.
check_node() {
  local found
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo "setup: node and npm were not found; install Node $node_wanted or later (nodejs.org)" >&2
    return 1
  fi
  found=$(node --version)
  if ! printf '%s\n%s\n' "$node_wanted" "${found#v}" | sort -V -C; then
    echo "setup: node is $found, expected $node_wanted or later (nodejs.org)" >&2
    return 1
  fi
}
if $wants_clang; then packages+=("${clang_packages[@]}"); fi
if $wants_aarch64; then packages+=("${aarch64_packages[@]}"); fi
if $wants_peers; then packages+=("${peer_packages[@]}"); fi
if $wants_node; then check_node; fi
if $wants_web; then
  # Another browser is used where TANDEM_CHROMIUM names it.
  if [[ -z "${TANDEM_CHROMIUM:-}" ]]; then packages+=("${web_packages[@]}"); fi
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: this is not a Debian system; install what these packages hold by other means, and then set" >&2
  echo "setup: TANDEM_SKIP_SETUP=1 for the other scripts: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ "$state" == installed ]] || missing+=("$package")
done

if ((${#missing[@]} == 0)); then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi
echo "setup: missing: ${missing[*]}"
if $check_only; then
  echo "setup: run tools/setup.sh to install them" >&2
  exit 1
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: not root, and there is no sudo; run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

export DEBIAN_FRONTEND=noninteractive
echo "setup: apt-get update"
if ! "${as_root[@]}" apt-get update -qq; then
  echo "setup: the package lists could not be brought up to date; going on with those that are there" >&2
fi
echo "setup: apt-get install ${missing[*]}"
if ! "${as_root[@]}" env DEBIAN_FRONTEND="$DEBIAN_FRONTEND" apt-get install -y -qq --no-install-recommends \
  "${missing[@]}" </dev/null; then
  echo "setup: apt-get failed (see above); check the network and /etc/apt/sources.list, then run tools/setup.sh again" >&2
  exit 1
fi
echo "setup: done"
