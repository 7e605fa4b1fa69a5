// The runtimes that native answers are linked with, in this process before any of them: a job opens none itself.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

// Besides those of this program itself; what a machine does not have its compiler does not link with.
constexpr const char* kRuntimes[] = {"libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libmvec.so.1", "libgomp.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1"};

// Their files and the loader's, as the loader found them.
inline std::vector<std::string> runtime_files() {
  for (const char* one : kRuntimes) dlopen(one, RTLD_NOW | RTLD_LOCAL);
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* one, size_t, void* to) {
        if (one->dlpi_name && one->dlpi_name[0] == '/') static_cast<std::vector<std::string>*>(to)->push_back(one->dlpi_name);
        return 0;
      },
      &files);
  return files;
}

inline int print_runtimes() {
  for (const std::string& one : runtime_files()) puts(one.c_str());
  return 0;
}

// Read once to their ends: which of their pages are in memory would tell what an earlier answer has used. And with
// no environment: variables are for this program's own start.
inline void load_runtimes() {
  static char block[1 << 16];
  for (const std::string& one : runtime_files()) {
    const int file = open(one.c_str(), O_RDONLY | O_CLOEXEC);
    while (read(file, block, sizeof block) > 0) {}
    close(file);
  }
  clearenv();
}
