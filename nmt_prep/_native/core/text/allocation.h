// How the C library allocates memory for the process.
#pragma once

namespace nmt_prep {

// Makes the C library keep memory that is freed, to use it again: first touches of new memory take a large part of the
// time that a run spends in the system. With glibc, pieces of less than 32 MiB come from at most `arenas` heaps, which
// keep up to 64 MiB each; by itself it reaches these sizes only after large pieces have been freed, and has up to eight
// heaps per core. Returns false if the C library has no such settings. For a process that belongs to the program alone,
// before it starts threads.
bool keep_freed_memory(int arenas) noexcept;

}  // namespace nmt_prep
