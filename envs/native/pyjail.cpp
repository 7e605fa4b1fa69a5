// The jail for answers that are a Python module: the same zygote, inside a Python that has imported
// torch. Loaded by envs/guest/main.py; each job is a clone of that process, so nothing is imported twice.
#include "zygote.h"

// `start` runs in the job's process, hardened already: mode, then its words, each ended by a NUL.
extern "C" void kernelwright_serve(int control, void (*start)(const char* mode, const char* words, int length)) {
  serve_jobs(control, [start](const Job& job) {
    std::string words;
    for (const std::string& word : job.arguments) words.append(word).push_back('\0');
    start(job.mode.c_str(), words.data(), static_cast<int>(words.size()));
  });
}
