// The sandbox's inside: bubblewrap starts it once for a worker, and it starts every untrusted process.
//
//   jail SOCKET     serves jobs on that descriptor: compilers (`exec`), native kernels (`play`), a
//                   kernel that does nothing (`nothing`: what a round costs by itself), and CUDA's
//                   host code, which runs to learn what it launches (`trace`)
//   jail play SOCKET   the same, where only the runtimes of native answers are (runtimes.h)
//   jail runtimes   prints the files of those runtimes
//   jail landlock   prints the version of Landlock that this kernel has
//   jail end UID KILLER FOLDER   ends a user's processes and empties its folder (process_level.h)
#include "player.h"
#include "runtimes.h"
#include "tracer.h"
#include "zygote.h"

int main(int argc, char** argv) {
  if (argc == 5 && !strcmp(argv[1], "end")) {
    kill_all(atoi(argv[2]), atoi(argv[3]));
    empty_folder(argv[4]);
    return 0;
  }
  if (argc < 2) die(kBadUse, "usage");
  if (!strcmp(argv[1], "landlock")) return printf("%ld\n", landlock_version()) < 0;
  if (!strcmp(argv[1], "runtimes")) return print_runtimes();
  if (argc == 3) load_runtimes();
  serve_jobs(atoi(argv[argc - 1]), [](const Job& job) {
    if (job.mode == "play") play(loaded("/scratch/kernel.so"));
    if (job.mode == "nothing") play(nullptr);
    if (job.mode == "trace") trace("/scratch/kernel.so", "/scratch/layout", "/scratch/kernels");
    std::vector<char*> words;
    for (const std::string& word : job.arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    die(kBadUse, words[0]);
  });
}
