#include "text/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace nmt_prep {

void parallel_for(std::size_t tasks, std::size_t threads, const std::function<void(std::size_t, std::size_t)>& body) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex error_mutex;
    std::exception_ptr error;
    std::size_t error_task = tasks;

    auto work = [&](std::size_t thread) {
        while (!failed.load(std::memory_order_relaxed)) {
            const std::size_t task = next.fetch_add(1, std::memory_order_relaxed);
            if (task >= tasks) return;
            try {
                body(task, thread);
            } catch (...) {
                failed.store(true, std::memory_order_relaxed);
                const std::scoped_lock lock(error_mutex);
                if (task < error_task) {
                    error_task = task;
                    error = std::current_exception();
                }
            }
        }
    };

    std::vector<std::thread> helpers;
    std::size_t most = std::min(threads, tasks);
    if (most > 1) helpers.reserve(most - 1);
    for (std::size_t thread = 1; thread < most; ++thread) {
        try {
            helpers.emplace_back(work, thread);
        } catch (const std::system_error&) {
            most = thread;  // the system has no more threads: those that have started do the work
        }
    }
    work(0);
    for (std::thread& helper : helpers) helper.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace nmt_prep
