// Native code that runs without the lock of the interpreter.
#pragma once

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace nmt_prep {

// Releases the lock while it exists. Python ends a daemon thread that takes the lock while the interpreter ends,
// through destructors and handlers that abort the process. So once the program ends, threads other than the one that
// ends it do not come back, as in Python 3.14.
class GilRelease {
   public:
    GilRelease() : thread_(PyEval_SaveThread()) {}
    ~GilRelease() {
        ++returning;
        if (ended && std::this_thread::get_id() != last) {
            --returning;
            while (true) pause();
        }
        PyEval_RestoreThread(thread_);
        --returning;
    }
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;

    // Lets no other thread come back from now on. Those that are about to, and wait for the lock, get it before.
    static void end() {
        last = std::this_thread::get_id();
        ended = true;
        const nanobind::gil_scoped_release unlocked;
        while (returning > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    // Calls `end` when the program ends.
    static void watch() {
        pthread_atfork(nullptr, nullptr, [] { returning = 0; });  // a child has only the thread that made it
        nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function(&GilRelease::end));
    }

   private:
    PyThreadState* thread_;
    inline static std::atomic<int> returning = 0;
    inline static std::atomic<bool> ended = false;
    inline static std::thread::id last;
};

}  // namespace nmt_prep
