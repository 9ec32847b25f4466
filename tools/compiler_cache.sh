# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors

# Read by scripts that build, from the top of the source tree: what ccache has of one checkout is used in another. Debug
# information then names the folder of the first.

export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
# Of precompiled headers (builds for WebAssembly) it wants to be told that macros and times in them do not matter.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
