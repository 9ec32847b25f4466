# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# 64-bit Arm by Debian's cross compiler; what is built runs here by qemu-user. `tools/setup.sh --aarch64` installs both.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

find_program(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
find_program(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
find_program(TANDEM_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
mark_as_advanced(TANDEM_QEMU)
if(NOT CMAKE_CXX_COMPILER OR NOT TANDEM_QEMU)
  message(FATAL_ERROR "no g++ for 64-bit Arm, or no qemu-user: run tools/setup.sh --aarch64, or install "
                      "g++-aarch64-linux-gnu and qemu-user")
endif()
# The target's C and C++ libraries. Headers alone, as of Eigen and Highway, are found where they are installed for this
# machine.
set(CMAKE_CROSSCOMPILING_EMULATOR "${TANDEM_QEMU};-L;/usr/aarch64-linux-gnu")
