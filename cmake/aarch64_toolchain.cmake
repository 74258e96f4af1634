# Debian's cross compiler for AArch64; what it builds runs here under QEMU.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# What is installed for this machine is not for that one.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# `max` has every extension that QEMU knows; `cortex-a57` has none, above all no dot product.
set(EMULATOR qemu-aarch64 -L ${CMAKE_FIND_ROOT_PATH})
set(CMAKE_CROSSCOMPILING_EMULATOR ${EMULATOR} -cpu max)
set(VICINAL_EMULATOR_KERNELS neon)
set(VICINAL_BASELINE_EMULATOR ${EMULATOR} -cpu cortex-a57)
