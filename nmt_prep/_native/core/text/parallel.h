// Runs independent tasks on threads.
#pragma once

#include <cstddef>
#include <functional>

namespace nmt_prep {

// Runs body(task, thread) once for every task in [0, tasks), on at most `threads` threads (the caller's is one of
// them); thread < threads, and no two calls with the same thread overlap, so that a thread's scratch space needs no
// lock. Tasks start in ascending order. If bodies throw, tasks not yet started are skipped, and after all threads have
// ended the exception of the lowest task that threw is rethrown here: no exception crosses a thread's end.
void parallel_for(std::size_t tasks, std::size_t threads,
                  const std::function<void(std::size_t task, std::size_t thread)>& body);

}  // namespace nmt_prep
