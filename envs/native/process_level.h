// Jobs without namespaces: what ends all processes of one, and empties the folder that it wrote to.
//
// Holds: a job's processes are those of a user that nobody else is; the kernel ends them all at once,
// so none can start another meanwhile, and none may signal the process that asks for it. Does not
// hold: nothing here hides a job from others, or others from it.
#pragma once

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include "harden.h"

constexpr uint32_t kFirstOwnUser = 1 << 24;  // envs/sandbox/process_level.py

// Every process of this user is killed. Who asks is another user but for its effective one: it may
// signal that user's processes, no others, and they may not signal it.
inline void kill_all(uint32_t uid, uint32_t killer) {
  if (uid < kFirstOwnUser || killer < kFirstOwnUser) die(kNoSandbox, "user");
  const pid_t asks = fork();
  if (asks == 0) {
    if (setgroups(0, nullptr) || setresuid(killer, uid, killer)) _exit(1);
    kill(-1, SIGKILL);
    _exit(0);
  }
  int status = 0;
  while (asks > 0 && waitpid(asks, &status, 0) != asks) {}
  if (asks < 0 || status) die(kNoSandbox, "kill");
}

// Whatever it holds is removed. Folders in folders are moved up first: they may be nested deeper than
// a path may be long, or a stack.
inline void empty_folder(const std::string& path) {
  static unsigned long moved = 0;
  for (bool again = true; again;) {
    again = false;
    const int top = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR* entries = top < 0 ? nullptr : fdopendir(top);
    if (!entries) die(kNoSandbox, path.c_str());
    const auto is_self = [](const dirent* one) { return !strcmp(one->d_name, ".") || !strcmp(one->d_name, ".."); };
    while (const dirent* one = readdir(entries)) {
      if (is_self(one) || !unlinkat(top, one->d_name, 0) || !unlinkat(top, one->d_name, AT_REMOVEDIR)) continue;
      const int below = openat(top, one->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      DIR* inner = below < 0 ? nullptr : fdopendir(below);
      if (!inner) die(kNoSandbox, one->d_name);
      while (const dirent* deep = readdir(inner)) {
        if (is_self(deep) || !unlinkat(below, deep->d_name, 0)) continue;
        const std::string name = ".moved-" + std::to_string(++moved);
        renameat(below, deep->d_name, top, name.c_str());  // an answer's own name like that: the next time
      }
      closedir(inner);
      unlinkat(top, one->d_name, AT_REMOVEDIR);
      again = true;
    }
    closedir(entries);
  }
}

// Another folder in its place, empty: what a job did to its own (mode, attributes, lists of access)
// would tell the next one something, or keep it out.
inline void renew_folder(const Limits& limits) {
  empty_folder(limits.folder);
  const size_t name = limits.folder.rfind('/') + 1;
  const std::string made = limits.folder.substr(0, name) + "new-" + limits.folder.substr(name);
  rmdir(made.c_str());  // of one that was killed here
  if (mkdir(made.c_str(), 0700) || chown(made.c_str(), limits.uid, limits.uid) ||
      rename(made.c_str(), limits.folder.c_str()) || chdir(limits.folder.c_str())) {
    die(kNoSandbox, made.c_str());
  }
}

// Before a job: what it leaves behind comes to this process, and its folder is new.
inline void prepare_process_level(const Limits& limits) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)) {
    die(kNoSandbox, "subreaper");
  }
  kill_all(limits.uid, limits.killer);
  renew_folder(limits);
}

// After it: none of its processes lives, and nothing that it wrote is left.
inline void end_processes_of(const Limits& limits) {
  kill_all(limits.uid, limits.killer);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {}
  empty_folder(limits.folder);
}
