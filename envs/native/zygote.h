// Starts one hardened process after another, each in namespaces of its own, for the referee outside.
//
// A job arrives as one message: words that end in NUL, and descriptors. The answers are 'P' with a
// pidfd (so that the referee can kill), and 'X' with the exit status once all of the job is gone.
// This process never runs anything untrusted; whatever does is a grandchild without any rights.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <functional>

#include "closed.h"
#include "harden.h"
#include "process_level.h"

constexpr int kFilesAtMost = 64;  // descriptors; envs/sandbox/zygote.py
constexpr size_t kJobBytes = 1 << 17;

// Words: the mode, NAME=VALUE limits, readable=FOLDER, file=NAME (one descriptor each, in order) and
// arg=WORD. Descriptors: the log, the channel (a socket, or the file that takes an artefact), then the files.
struct Job {
  std::string mode;
  Limits limits;
  std::vector<std::string> files, arguments;
  int log = -1, channel = -1;
  std::vector<int> contents;
};

// What untrusted code is then started, with /scratch as its folder and descriptor 3 as its channel.
using Start = std::function<void(const Job&)>;

inline Job read_job(const char* words, size_t length, const std::vector<int>& descriptors) {
  Job job;
  for (const char* word = words; word < words + length; word += strlen(word) + 1) {
    const char* equals = strchr(word, '=');
    if (!equals) {
      job.mode = word;
      continue;
    }
    const std::string name(word, equals), value(equals + 1);
    const auto number = [&] { return strtoull(value.c_str(), nullptr, 10); };
    if (name == "file") job.files.push_back(value);
    if (name == "arg") job.arguments.push_back(value);
    if (name == "uid") job.limits.uid = number();
    if (name == "memory") job.limits.memory_bytes = number();
    if (name == "fsize") job.limits.file_bytes = number();
    if (name == "processes") job.limits.processes = number();
    if (name == "cpu") job.limits.cpu_seconds = number();
    if (name == "room") job.limits.room_bytes = number();
    if (name == "scratch") job.limits.scratch_bytes = number();
    if (name == "starts") job.limits.starts = static_cast<Starts>(number());
    if (name == "closed") job.limits.closed = number();
    if (name == "folder") job.limits.folder = value;
    if (name == "killer") job.limits.killer = number();
    if (name == "listed") job.limits.listed.push_back(value);
    if (name == "readable") job.limits.readable.push_back(value);
  }
  if (descriptors.size() != 2 + job.files.size()) die(kBadUse, "descriptors");
  job.log = descriptors[0], job.channel = descriptors[1];
  job.contents.assign(descriptors.begin() + 2, descriptors.end());
  return job;
}

// An empty message means that the referee is gone.
inline bool receive_job(int control_socket, Job* job, std::vector<int>* descriptors) {
  static char words[kJobBytes];
  char control[CMSG_SPACE(kFilesAtMost * sizeof(int))];
  iovec part = {words, sizeof words};
  msghdr header = {nullptr, 0, &part, 1, control, sizeof control, 0};
  const ssize_t length = recvmsg(control_socket, &header, MSG_CMSG_CLOEXEC);
  if (length <= 0) return false;
  const cmsghdr* first = CMSG_FIRSTHDR(&header);
  const size_t count = first ? (first->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
  descriptors->resize(count);
  if (count) memcpy(descriptors->data(), CMSG_DATA(first), count * sizeof(int));
  *job = read_job(words, length, *descriptors);
  return true;
}

inline void copy_file(int from, const std::string& name) {
  const int to = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  off_t at = 0;
  static char block[1 << 16];
  for (ssize_t got; (got = pread(from, block, sizeof block, at)) > 0; at += got) {
    if (write(to, block, got) != got) die(kNoSandbox, name.c_str());
  }
  if (to < 0 || close(to)) die(kNoSandbox, name.c_str());
}

// In the job's first process: no rights, its own files, and no descriptors but 0 to 3. One that is closed has its
// files as descriptors, and no folder.
inline void settle(const Job& job) {
  const bool is_closed = job.limits.closed;
  if (is_closed) closed::keep(job.files, job.contents);
  else mount_scratch(job.limits);
  set_limits(job.limits);
  drop_rights(job.limits);
  // As that user: /scratch is open to it alone, and our root has no CAP_DAC_OVERRIDE (envs/sandbox/rootfs.py).
  // Without a mount of its own /scratch is a link to whatever folder a process is in.
  const std::string& folder = job.limits.folder;
  if (chdir(is_closed ? "/" : folder.empty() ? "/scratch" : folder.c_str())) die(kNoSandbox, "scratch");
  for (size_t i = 0; i < job.files.size() && !is_closed; ++i) copy_file(job.contents[i], job.files[i]);
  const int nothing = open("/dev/null", O_RDONLY);
  // First out of the way of the targets 0 to 3, then onto them.
  const int log = fcntl(job.log, F_DUPFD, 32), channel = fcntl(job.channel, F_DUPFD, 32);
  if (dup2(nothing, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || dup2(channel, 3) < 0) die(kNoSandbox, "dup2");
  closed::close_others();
  restrict_files(job.limits);
}

// The first process of a namespace is immune to most signals, so the job proper is its child.
[[noreturn]] inline void run_job(const Job& job, const Start& start) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  setsid();
  settle(job);
  // A change of user sets both anew: to fs.suid_dumpable, and to no signal.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  int hardened[2];  // a byte in it says that all that follows is the job's own doing
  if (pipe2(hardened, O_CLOEXEC)) die(kNoSandbox, "pipe");
  const pid_t worker = fork();
  if (worker < 0) die(kNoSandbox, "fork");
  if (worker == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    // Not in `settle`: it may refuse the very fork that made this process.
    if (job.limits.closed) closed::filter_system_calls();
    else filter_system_calls(job.limits);
    if (write(hardened[1], "", 1) != 1) die(kNoSandbox, "hardened");
    for (int end : hardened) close(end);
    start(job);
    _exit(kBadUse);
  }
  close(hardened[1]);
  char byte;
  const bool was_hardened = read(hardened[0], &byte, 1) == 1;
  close(hardened[0]);
  for (int status;;) {
    if (waitpid(worker, &status, 0) != worker) continue;
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (!was_hardened) _exit(kNoSandbox);
    _exit(code == kNoSandbox ? 1 : code);  // a candidate's, which says what only we may say
  }
}

inline void tell(int control_socket, char what, int value, int descriptor) {
  char message[1 + sizeof(int)] = {what};
  memcpy(message + 1, &value, sizeof value);
  char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {message, sizeof message};
  msghdr header = {nullptr, 0, &part, 1, nullptr, 0, 0};
  if (descriptor >= 0) {
    header.msg_control = control, header.msg_controllen = sizeof control;
    cmsghdr* first = CMSG_FIRSTHDR(&header);
    *first = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(first), &descriptor, sizeof descriptor);
  }
  if (sendmsg(control_socket, &header, 0) < 0) _exit(0);
}

inline void serve_jobs(int control_socket, const Start& start) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  tell(control_socket, 'Z', 0, -1);
  Job job;
  for (std::vector<int> descriptors; receive_job(control_socket, &job, &descriptors);) {
    int pidfd = -1;
    const bool alone = job.limits.folder.empty();
    if (!alone) prepare_process_level(job.limits);
    const long spaces = (alone ? CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC : 0) | CLONE_PIDFD | SIGCHLD;
    // Raw: fork() takes no flags. Without a stack it returns twice as fork does; the pidfd comes in
    // the third argument on every processor (the order of the last two, both null, differs).
    const pid_t child = syscall(SYS_clone, spaces, nullptr, &pidfd, nullptr, nullptr);
    if (child == 0) run_job(job, start);
    for (int one : descriptors) close(one);
    if (child < 0) {
      tell(control_socket, 'F', errno, -1);
      continue;
    }
    tell(control_socket, 'P', child, pidfd);
    close(pidfd);
    int status = 0;
    while (waitpid(child, &status, 0) != child) {}
    if (!alone) end_processes_of(job.limits);
    tell(control_socket, 'X', WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), -1);
  }
}
