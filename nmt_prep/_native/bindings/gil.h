// Native code that runs without the lock of the interpreter.
#pragma once

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace nmt_prep {

// Threads that are about to take the lock. Python ends a daemon thread that takes the lock while the interpreter ends,
// through destructors and handlers that abort the process. So once the program ends, threads other than the one that
// ends it wait forever, as in Python 3.14.
class Returning {
   public:
    Returning() {
        ++count;
        if (ended && std::this_thread::get_id() != last) {
            --count;
            while (true) pause();
        }
    }
    ~Returning() { --count; }
    Returning(const Returning&) = delete;
    Returning& operator=(const Returning&) = delete;

    // Lets no other thread come back from now on. Those that are about to, and wait for the lock, get it before.
    static void end() {
        last = std::this_thread::get_id();
        ended = true;
        const nanobind::gil_scoped_release unlocked;
        while (count > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    // Calls `end` when the program ends.
    static void watch() {
        pthread_atfork(nullptr, nullptr, [] { count = 0; });  // a child has only the thread that made it
        nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function(&Returning::end));
    }

   private:
    inline static std::atomic<int> count = 0;
    inline static std::atomic<bool> ended = false;
    inline static std::thread::id last;
};

// Releases the lock while it exists.
class GilRelease {
   public:
    GilRelease() : thread_(PyEval_SaveThread()) {}
    ~GilRelease() {
        const Returning returning;
        PyEval_RestoreThread(thread_);
    }
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;

   private:
    PyThreadState* thread_;
};

// Takes the lock while it exists, in a thread that may have released it.
class GilAcquire {
   public:
    GilAcquire() : state_(ensure()) {}
    ~GilAcquire() { PyGILState_Release(state_); }
    GilAcquire(const GilAcquire&) = delete;
    GilAcquire& operator=(const GilAcquire&) = delete;

   private:
    static PyGILState_STATE ensure() {
        const Returning returning;
        return PyGILState_Ensure();
    }
    PyGILState_STATE state_;
};

}  // namespace nmt_prep
